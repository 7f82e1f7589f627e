"""What people read in a fitted model: topics in words, documents, correlations, other packages' forms."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from gptm import interop, tables
from gptm._basics.parallel import computing
from gptm._basics.types import Array
from gptm._basics.validation import check_choice, check_number
from gptm.corpus import Corpus
from gptm.kernels import BoundKernel
from gptm.starts.seed_words import topic_numbers


class Reading:
    """The methods of a topic model that only read what a fit has left. No formulas here."""

    n_jobs: int | None
    components_: Array
    topic_covariance_: Array
    doc_logits_: Array
    doc_variance_: Array
    doc_lengths_: Array
    _bound_kernel: BoundKernel
    topic_names_: list[str | None] | None
    _coherence: Array
    _doc_topics: Array | None
    _kernel_parameters: Callable[[], tuple[Array, ...]]  # B comes first
    _training_theta: Callable[[], Array]

    @property
    def doc_topics_(self) -> Array:
        """Expected proportions of the training documents, computed when first asked for."""
        known: Array | None = getattr(self, "_doc_topics", None)
        if known is None:
            known = self._doc_topics = self._training_theta()
        return known

    def topics(
        self, n_words: int = 10, *, feature_names: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """The topics as a table: how large they are, what they are about, how good they look.

        Parameters
        ----------
        n_words : int, default=10
            Words in each column of words.
        feature_names : sequence of str, optional
            The words of the columns of X; known already where the model was fitted to a corpus or a DataFrame.

        Returns
        -------
        DataFrame
            One row per topic, with the columns

            - words: the most probable ones;
            - frex: those that are frequent and exclusive (`gptm.metrics.frex`);
            - lift: those whose probability rises most over that in the corpus (`gptm.metrics.lift`);
            - score: those that tell the topic from the others (`gptm.metrics.word_scores`);
            - coherence: whether the ten most probable words occur in the same training documents
              (`gptm.metrics.npmi_coherence`);
            - exclusivity: whether the other topics leave these ten words alone (`gptm.metrics.exclusivity`);
            - share: mean proportion over the training documents, each of which counts the same;
            - name: first of all, where `seed_words` named topics.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> texts = ["hot tea, hot tea, green tea", "hot coffee, hot coffee, coffee beans"] * 20
        >>> corpus = Corpus.from_texts(texts, max_df=1.0)
        >>> table = CTM(n_components=2, random_state=0).fit(corpus).topics(n_words=2)
        >>> sorted(table["words"])
        ['coffee, hot', 'tea, hot']
        >>> sorted(table["frex"])
        ['coffee, beans', 'tea, green']
        """
        check_is_fitted(self)
        check_number("n_words", n_words, least=1, integer=True)
        unknown = np.full(len(self.components_), np.nan)  # in files of older versions
        table = tables.topic_table(
            self.components_,
            tables.topic_shares(self.doc_topics_),
            getattr(self, "_coherence", unknown),
            tables.word_names(self, feature_names),
            n_words,
        )
        if (given := getattr(self, "topic_names_", None)) is not None:
            table.insert(0, "name", [name or "" for name in given])
        return table

    def representative_documents(
        self, topic: int | str, n: int = 5, *, corpus: Corpus | None = None
    ) -> pd.DataFrame:
        """The training documents with the largest expected share of a topic.

        Parameters
        ----------
        topic : int or str
            From 0 to n_components - 1, or the name that `seed_words` gave it.
        n : int, default=5
            Number of documents.
        corpus : Corpus, optional
            The training corpus, which the model does not keep: adds ids and texts where it has them.

        Returns
        -------
        DataFrame
            Largest share first, with the columns position, in the training data, and share; with a corpus also id
            and text, its first 200 characters.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> model = CTM(n_components=2, random_state=0).fit(corpus)
        >>> tea = model.topics()["words"].str.startswith("tea").idxmax()
        >>> model.representative_documents(tea, 2, corpus=corpus)["text"].tolist()
        ['green tea, tea', 'green tea, tea']
        """
        check_is_fitted(self)
        numbers = topic_numbers(self, topic)
        if len(numbers) > 1:
            raise ValueError(f"topic must be one topic; got {topic!r}.")
        return tables.document_table(self.doc_topics_, numbers[0], n, corpus)

    def topic_correlations(self, of: Literal["residual", "prior"] = "residual") -> pd.DataFrame:
        """Which topics go together in documents: correlations of their logits.

        What a document's logits have in common does not change its proportions and is taken out first; two
        topics therefore have correlation -1, and more topics -1 / (K - 1) on average where they vary alike.

        Parameters
        ----------
        of : {"residual", "prior"}, default="residual"
            "residual" is what the kernel does not explain, from `topic_covariance_`; "prior" is all variation, that
            which the kernel describes included: `topic_covariance_` + `coregionalization_`, the latter times the
            mean variance of the kernel, which is one where its strength is learnt. Without a kernel they are the same.

        Returns
        -------
        DataFrame
            Of shape (n_components, n_components), with ones on the diagonal.

        Examples
        --------
        >>> import numpy as np
        >>> from gptm import CTM
        >>> X = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 3, 3], [0, 0, 5, 2]] * 5)
        >>> CTM(n_components=2, random_state=0).fit(X).topic_correlations().to_numpy().round(6)
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        check_is_fitted(self)
        check_choice("of", of, ("residual", "prior"))
        covariance = self.topic_covariance_
        if of == "prior":
            with computing(self.n_jobs):
                variance = self._bound_kernel.mean_diagonal()
            covariance = covariance + variance * self._kernel_parameters()[0]
        return tables.correlation_table(covariance)

    def topic_graph(
        self,
        threshold: float = 0.1,
        *,
        of: Literal["residual", "prior"] = "residual",
        n_words: int = 3,
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Topics as a graph, joined where they correlate; needs networkx.

        Parameters
        ----------
        threshold, of, n_words, feature_names : as in `gptm.interop.topic_graph`

        Returns
        -------
        networkx.Graph

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> graph = CTM(n_components=2, random_state=0).fit(corpus).topic_graph(n_words=1)
        >>> sorted(label for _, label in graph.nodes(data="label"))
        ['coffee', 'tea']
        """
        return interop.topic_graph(
            self, threshold, of=of, n_words=n_words, feature_names=feature_names
        )

    def topic_words(
        self, n_words: int = 10, *, feature_names: Sequence[str] | None = None
    ) -> list[list[str]]:
        """The most probable words of each topic as lists, as gensim and OCTIS take them.

        Parameters
        ----------
        n_words, feature_names : as in `gptm.interop.topic_words`

        Returns
        -------
        list of lists of str

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 20)
        >>> sorted(CTM(n_components=2, random_state=0).fit(corpus).topic_words(2))
        [['coffee', 'beans'], ['tea', 'green']]
        """
        return interop.topic_words(self, n_words, feature_names=feature_names)

    def to_frame(
        self,
        of: Literal["documents", "words"] = "documents",
        *,
        feature_names: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Topics of the training documents, or words of the topics, as a long table.

        Parameters
        ----------
        of, feature_names : as in `gptm.interop.to_frame`

        Returns
        -------
        DataFrame
            With the columns document, topic, share; or topic, word, probability.

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> CTM(n_components=2, random_state=0).fit(corpus).to_frame().shape
        (20, 3)
        """
        return interop.to_frame(self, of, feature_names=feature_names)

    def to_octis(
        self, n_words: int = 10, *, feature_names: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The model as the dictionary that the measures of OCTIS take.

        Parameters
        ----------
        n_words, feature_names : as in `gptm.interop.to_octis`

        Returns
        -------
        dict

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> list(CTM(n_components=2, random_state=0).fit(corpus).to_octis())
        ['topics', 'topic-word-matrix', 'topic-document-matrix']
        """
        return interop.to_octis(self, n_words, feature_names=feature_names)

    def to_arviz(self) -> Any:
        """The draws of the sampler for ArviZ, as in `gptm.interop.to_arviz`; needs arviz.

        Returns
        -------
        arviz.InferenceData
        """
        check_is_fitted(self)
        return interop.to_arviz(self)

    def to_pyldavis(
        self, X: Any, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> Any:
        """The model prepared for pyLDAvis, an interactive map of topics and their words; needs pyLDAvis.

        Parameters
        ----------
        X : Corpus, or sparse or dense array of shape (n_documents, n_words)
            The training documents.
        feature_names, **options : as in `gptm.interop.to_pyldavis`

        Returns
        -------
        pyLDAvis.PreparedData

        Examples
        --------
        >>> from gptm import CTM, Corpus
        >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
        >>> prepared = CTM(n_components=2, random_state=0).fit(corpus).to_pyldavis(corpus)
        >>> prepared.topic_coordinates.shape
        (2, 5)
        """
        return interop.to_pyldavis(self, X, feature_names=feature_names, **options)
