STARTS_ON = ("r-mnist", "digits-halves", "bridges", "s-curve-gibbs", "r-cifar", "yale")
TRIED_ON = ("bridges", "s-curve-gibbs", "yale", "breast-tcga")


def write_page(*a, **k):
    pass
