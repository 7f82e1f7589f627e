# Fits stm at the word of another process: one command per line on the standard input, fields set apart by tabs.
#
#   load FILE K SEED     counts as Matrix Market, documents x words; every word occurs
#   fit N                EM until N iterations in all; answers "converged" or "more"
#   topics FILE          (K, V) topics as doubles, row by row
#   new FILE             counts of other documents
#   infer                their mixtures
#   theta FILE           the same, written as doubles, row by row
#
# Each command is answered by one line that starts with "answer".

suppressMessages({library(stm); library(Matrix)})

read_documents <- function(file) {
  X <- as(as(Matrix::t(readMM(file)), "CsparseMatrix"), "generalMatrix")  # one column per document
  lapply(seq_len(ncol(X)), function(d) {
    cells <- (X@p[d] + 1):X@p[d + 1]
    rbind(X@i[cells] + 1L, as.integer(X@x[cells]))
  })
}

write_rows <- function(M, file) {
  connection <- file(file, "wb")
  writeBin(as.vector(t(M)), connection)
  close(connection)
}

model <- NULL
input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  command <- strsplit(line, "\t")[[1]]
  answer <- "done"
  if (command[1] == "load") {
    documents <- read_documents(command[2])
    K <- as.integer(command[3])
    seed <- as.integer(command[4])
    vocab <- as.character(seq_len(max(sapply(documents, function(d) max(d[1, ])))))
  } else if (command[1] == "fit") {
    model <- stm(documents, vocab, K = K, init.type = "Spectral", seed = seed, model = model,
                 max.em.its = as.integer(command[2]), verbose = FALSE)
    answer <- if (isTRUE(model$convergence$converged)) "converged" else "more"
  } else if (command[1] == "topics") {
    write_rows(exp(model$beta$logbeta[[1]]), command[2])
  } else if (command[1] == "new") {
    new <- read_documents(command[2])
  } else if (command[1] == "infer") {
    theta <- fitNewDocuments(model, new, prevalencePrior = "Average", verbose = FALSE)$theta
  } else if (command[1] == "theta") {
    write_rows(theta, command[2])
  }
  cat("answer", answer, "\n", sep = " ")
  flush(stdout())
}
