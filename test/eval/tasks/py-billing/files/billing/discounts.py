"""What is taken off the goods."""
from decimal import Decimal

from .money import amount, percent

# From this value of goods on there is a discount, in percent.
STEPS = [(Decimal("500"), 15), (Decimal("100"), 10)]


def rate_for(goods):
    """Returns the discount for goods of that value, in percent."""
    for threshold, rate in STEPS:
        if goods > threshold:
            return rate
    return 0


def discount(goods):
    return percent(goods, rate_for(goods))


def voucher_value(goods, voucher):
    """Returns how much of a voucher can be used for goods of that value."""
    return min(amount(voucher), goods)
