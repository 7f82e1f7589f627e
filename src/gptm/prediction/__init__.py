"""Topics of new documents, and documents drawn from the model.

The kernel says what to expect of a document (`new_documents`); given that, its words decide. `theta` averages over its
posterior by weighted points; the paper's way, for all documents of a call together, is in `new_documents` too. An
`Effort` says how much work a document is worth. `simulate` draws corpora. Begin with `proportions`.
"""
