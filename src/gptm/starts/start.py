"""Where chains and EM start: topics, and from LDA runs also the documents."""

import numpy as np
from scipy.sparse import csr_matrix

from gptm._basics.types import Array
from gptm.inference.checkpoint import LEADS, Checkpoint, NoCheckpoint, Tree
from gptm.inference.em import loop as em
from gptm.inference.em.parameter_steps import update_beta
from gptm.inference.problem import FitProblem
from gptm.inference.sampling.topic_prior import draw_urn, first_urn
from gptm.inference.start_point import Start
from gptm.starts.anchor_words import spectral_topics
from gptm.starts.lda import LdaRun, posterior_of, tokens_of
from gptm.starts.leading import Lead
from gptm.starts.seed_words import grow, plant

# With few tokens, single Gibbs runs differ much, and their fit to the words shows which have missed a topic (measured;
# the joint probability of words and their topics does not). With many tokens, runs differ less, and more sweeps are
# worth more than a choice.
RUNS = 8  # to begin with; after each of two rounds the better half of them goes on, in the end the best
MANY_TOKENS = 400_000  # beyond, there is one run
WORK = 7e7  # tokens drawn in all runs,
SWEEPS = (200, 1200)  # but not in fewer or more sweeps than that,
PER_TOPIC = 2.5  # nor in fewer than so many for each topic: many take long to find their places,
MOST_TOPICS = 200  # of which no more count
ROUND, LAST = (
    0.06,
    0.28,
)  # of these sweeps: each run's in a round, and those of the best run after that
_URN_ROUNDS = 20  # in which the topics' prior settles
_HANDFUL = 5  # documents that a random topic is made of
_FLOOR = 1e-12  # a zero in the start would stay zero for ever


def make_starts(
    init: str | Array,
    problem: FitProblem,
    n_components: int,
    rng: np.random.RandomState,
    n_starts: int,
    checkpoint: Checkpoint | None,
    lead: Lead | None,
) -> list[Start]:
    """One start for each chain; after an interrupt those that there are, and none if work has left them behind.

    With a `lead` to most documents, all chains start where it leads to.
    """
    checkpoint = checkpoint or NoCheckpoint()
    if any(checkpoint.read(phase) is not None for phase in ("chains", "em", LEADS)):
        return []
    if lead is not None and lead.start:
        return [led_start(problem, lead, rng) for _ in range(n_starts)]
    starts: list[Start] = []
    contests: list[_Contest] = []
    for _ in range(n_starts):
        if isinstance(init, str) and init == "gibbs":
            contests.append(_Contest(problem, n_components, rng, checkpoint, contests.copy()))
            starts.append(contests[-1].start())
        else:
            starts.append(make_start(init, problem, n_components, rng))
        if not starts[-1].complete:
            break
    return starts


def make_start(
    init: str | Array,
    problem: FitProblem,
    n_components: int,
    rng: np.random.RandomState,
) -> Start:
    """The start that `init` names, or the given (K, V) topics."""
    counts = problem.counts
    if not isinstance(init, str):  # as users order them
        beta_T = np.asarray(init, dtype=np.float64).T
        return Start.at(problem, em.initial_state(problem, _floored(beta_T)))
    if init == "gibbs":
        return _Contest(problem, n_components, rng, NoCheckpoint(), []).start()
    complete = True
    if init == "random":
        beta_T = grow(_random_topics(counts, n_components, rng), problem.seeds, counts)
    else:
        try:
            beta_T = plant(spectral_topics(counts, n_components), problem.seeds, counts.sum())
        except KeyboardInterrupt:
            beta_T, complete = _random_topics(counts, n_components, rng), False
    return Start.at(problem, em.initial_state(problem, _floored(beta_T)), complete)


def led_start(problem: FitProblem, lead: Lead, rng: np.random.RandomState) -> Start:
    """A start in which all words of a group of documents belong to its topic."""
    counts = problem.counts
    lengths = np.asarray(counts.sum(1), dtype=np.float64).ravel()
    word_topic = (counts.T @ lead.members).toarray()
    draws = np.random.default_rng(rng.randint(2**31))
    urn = first_urn(np.asarray(counts.sum(0)).ravel(), problem.absent)
    for _ in range(_URN_ROUNDS):
        urn = draw_urn(word_topic + lead.pseudo_counts, urn, draws, problem.n_jobs)
    posterior = posterior_of(lead.members.toarray() * lengths[:, None])
    beta_T = _floored(update_beta(word_topic, problem.prior))
    return Start(em.initial_state(problem, beta_T, posterior), word_topic, urn)


class _Contest:
    """Gibbs runs; after each round the better half continues, and in the end the best one.

    The kernel plays no part here.
    """

    def __init__(
        self,
        problem: FitProblem,
        n_components: int,
        rng: np.random.RandomState,
        checkpoint: Checkpoint,
        before: list["_Contest"],
    ):
        self.problem, self.n_components = problem, n_components
        self.checkpoint, self.before = checkpoint, before
        n_tokens = problem.counts.sum()
        several = n_tokens <= MANY_TOKENS
        least, most = SWEEPS
        least += round(PER_TOPIC * min(n_components, MOST_TOPICS))
        total = int(np.clip(WORK / max(n_tokens, 1.0), least, max(most, least)))
        each = round(ROUND * total)
        # Sweeps of every run until the end of a round, and runs that go on after it.
        self.rounds = [(total, 1)]
        if several:
            self.rounds = [(each, RUNS // 2), (2 * each, 1), (2 * each + round(LAST * total), 1)]
        self.seeds: list[int] = rng.randint(2**31, size=RUNS if several else 1).tolist()
        self.round = 0
        self.runs: list[LdaRun] = []

    def start(self) -> Start:
        """The start from the best run."""
        best, complete = self.winner()
        ended = best.start()
        beta_T = _floored(update_beta(ended.word_topic, self.problem.prior))
        state = em.initial_state(self.problem, beta_T, ended.posterior)
        return Start(state, ended.word_topic, ended.urn, complete)

    def _take_up(self) -> None:
        """The runs as a checkpoint has them, or new ones."""
        tree = self.checkpoint.read("start")
        number = len(self.before)
        own = None if tree is None or number >= len(tree["contests"]) else tree["contests"][number]
        if own is not None:
            self.round, self.seeds = own["round"], own["seeds"]
        problem = self.problem
        tokens = tokens_of(problem.counts)
        for place, seed in enumerate(self.seeds):
            rng = np.random.RandomState(seed)
            run = LdaRun(
                problem.counts, self.n_components, rng, problem.seeds, problem.absent, tokens
            )
            if own is not None:
                run.go_on_from(own["runs"][place])
            self.runs.append(run)

    def winner(self) -> tuple[LdaRun, bool]:
        """The best run, and whether all was done; after Ctrl-C the best of what there is."""
        try:
            self._take_up()
            while self.round < len(self.rounds):
                sweeps, left = self.rounds[self.round]
                if not all(
                    run.sweep_to(sweeps, self.problem.n_jobs, self._keep) for run in self.runs
                ):
                    return self._best(), False
                self._choose(left)
        except KeyboardInterrupt:  # between two sweeps
            if not self.runs:
                raise
            return self._best(), False
        return self.runs[0], True

    def _best(self) -> LdaRun:
        return max(self.runs, key=lambda run: run.fit(self.problem.n_jobs))

    def _choose(self, left: int) -> None:
        order = list(range(len(self.runs)))
        if len(order) > 1:
            fits = [run.fit(self.problem.n_jobs) for run in self.runs]
            order = sorted(order, key=lambda number: -fits[number])[:left]
        self.runs = [self.runs[i] for i in order]
        self.seeds = [self.seeds[i] for i in order]
        self.round += 1

    def _keep(self) -> None:
        if self.checkpoint.due():
            contests = [contest.tree() for contest in (*self.before, self)]
            self.checkpoint.write("start", {"contests": contests})

    def tree(self) -> Tree:
        runs = [run.tree() for run in self.runs]
        return {"round": self.round, "seeds": self.seeds, "runs": runs}


def _floored(beta_T: Array) -> Array:
    beta_T = beta_T / beta_T.sum(0) + _FLOOR
    return np.ascontiguousarray(beta_T / beta_T.sum(0))


def _random_topics(counts: csr_matrix, n_components: int, rng: np.random.RandomState) -> Array:
    """Topics from random handfuls of documents over the words' overall frequency."""
    D, V = counts.shape
    overall = (np.asarray(counts.sum(0)).ravel() + 1.0) / (counts.sum() + V)
    chosen = rng.randint(D, size=(n_components, _HANDFUL))
    handfuls = np.stack([np.asarray(counts[rows].sum(0)).ravel() for rows in chosen], axis=1)
    noise = rng.gamma(1.0, size=(V, n_components))  # tells topics apart where documents do not
    return np.asarray(handfuls + overall[:, None] * noise * (1.0 + handfuls.sum(0)))
