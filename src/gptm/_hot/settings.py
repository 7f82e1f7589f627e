"""How the loops are compiled, and numbers that several of them share."""

# Lets sums vectorise, but keeps NaN and infinity meaningful (plain fastmath=True does not).
FAST = {"reassoc", "contract", "nsz"}
TINY = 1e-300
