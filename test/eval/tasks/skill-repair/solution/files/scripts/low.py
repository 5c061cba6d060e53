import sys

lines = [line.strip() for line in open(sys.argv[1], encoding="utf-8") if line.strip()]
new = lines[:1] == ["#stock 5"]
need = []
for line in lines:
    if line.startswith("#"):
        continue
    if new:
        fields = dict(field.split("=", 1) for field in line.split("|"))
        article, minimum, stock = fields["id"], int(fields["min"]), int(fields["have"]) - int(fields.get("reserved", 0))
    else:
        article, stock, minimum = line.split(";")
        stock, minimum = int(stock), int(minimum)
    if stock < minimum:
        need.append((stock - minimum, article))
for missing, article in sorted(need):
    print(article, -missing)
