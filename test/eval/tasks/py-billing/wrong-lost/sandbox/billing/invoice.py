"""Puts an invoice together."""
from dataclasses import dataclass
from decimal import Decimal

from .discounts import discount, voucher_value
from .money import amount


@dataclass(frozen=True)
class Invoice:
    goods: Decimal
    discount: Decimal
    voucher: Decimal
    total: Decimal


def make_invoice(lines, voucher=0):
    """Returns the invoice of an order. The voucher is an amount of money."""
    goods = sum((line.total for line in lines), amount(0))
    off = discount(goods)
    used = voucher_value(goods - off, voucher)
    return Invoice(goods=goods, discount=off, voucher=used, total=goods - used - off)
