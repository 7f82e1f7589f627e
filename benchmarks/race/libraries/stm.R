# Fits stm once: Rscript stm.R FOLDER K SEED FORMULA COEFFICIENT
#
# The folder has counts.mtx (documents x words, every word occurs) and, with a formula, metadata.csv. Writes topics,
# theta and effect (estimate, low and high of a coefficient, for each topic) as doubles, row by row, and facts.json.

suppressMessages({library(stm); library(Matrix)})
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
K <- as.integer(arguments[2])
seed <- as.integer(arguments[3])
formula <- arguments[4]
coefficient <- arguments[5]

X <- as(as(Matrix::t(readMM(file.path(folder, "counts.mtx"))), "CsparseMatrix"), "generalMatrix")
documents <- lapply(seq_len(ncol(X)), function(d) {
  cells <- (X@p[d] + 1):X@p[d + 1]
  rbind(X@i[cells] + 1L, as.integer(X@x[cells]))
})
vocab <- as.character(seq_len(nrow(X)))
data <- if (nchar(formula)) read.csv(file.path(folder, "metadata.csv"), stringsAsFactors = TRUE) else NULL
prevalence <- if (nchar(formula)) as.formula(formula) else NULL
model <- stm(documents, vocab, K = K, prevalence = prevalence, data = data, init.type = "Spectral",
             seed = seed, verbose = FALSE)

write_rows <- function(M, name) {
  connection <- file(file.path(folder, name), "wb")
  writeBin(as.vector(t(M)), connection)
  close(connection)
}
write_rows(exp(model$beta$logbeta[[1]]), "topics")
write_rows(model$theta, "theta")
if (nchar(coefficient)) {
  set.seed(seed)
  estimate <- estimateEffect(update(prevalence, 1:K ~ .), model, data, uncertainty = "Global")
  tables <- summary(estimate)$tables
  rows <- t(sapply(tables, function(table) {
    value <- table[coefficient, "Estimate"]
    error <- table[coefficient, "Std. Error"]
    c(value, value - qnorm(0.95) * error, value + qnorm(0.95) * error)
  }))
  write_rows(rows, "effect")
}
writeLines(sprintf('{"stm": "%s", "iterations": %d, "converged": %s}', packageVersion("stm"),
                   length(model$convergence$bound), tolower(model$convergence$converged)),
           file.path(folder, "facts.json"))
