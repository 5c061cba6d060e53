import sys

need = []
for line in open(sys.argv[1], encoding="utf-8"):
    article, stock, minimum = line.strip().split(";")
    if int(stock) < int(minimum):
        need.append((int(minimum) - int(stock), article))
for missing, article in sorted(need, reverse=True):
    print(article, missing)
