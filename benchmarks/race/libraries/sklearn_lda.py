"""LDA in scikit-learn, by batch variational Bayes, until converged or for 30 passes."""

from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.race.task import Outcome, Task

PACKAGE, WARMS_UP = "scikit-learn", False
PASSES = 30


def fit(task: Task) -> Outcome:
    model = LatentDirichletAllocation(
        task.K,
        learning_method="batch",
        max_iter=PASSES,
        evaluate_every=5,
        random_state=task.seed,
        n_jobs=task.threads,
    )
    theta = model.fit_transform(task.counts)
    new_theta = tuple(model.transform(counts) for counts in task.new)
    return Outcome(model.components_, theta, {"passes": model.n_iter_}, new_theta=new_theta)
