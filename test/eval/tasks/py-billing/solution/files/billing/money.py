"""Amounts of money are Decimals with two places."""
from decimal import Decimal, ROUND_HALF_UP

CENT = Decimal("0.01")


def amount(value):
    """Returns value as an amount, rounded to cents."""
    return Decimal(str(value)).quantize(CENT, rounding=ROUND_HALF_UP)


def percent(base, rate):
    """Returns rate percent of base, rounded to cents."""
    return amount(base * Decimal(rate) / 100)
