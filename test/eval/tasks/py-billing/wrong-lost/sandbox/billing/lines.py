"""One line of an order."""
from dataclasses import dataclass
from decimal import Decimal

from .money import amount


@dataclass(frozen=True)
class Line:
    name: str
    unit_price: Decimal
    quantity: int = 1

    def __post_init__(self):
        object.__setattr__(self, "unit_price", Decimal(str(self.unit_price)))
        if self.quantity < 1:
            raise ValueError(f"{self.name}: the quantity is {self.quantity}, it must be 1 or more")

    @property
    def total(self):
        return amount(self.unit_price * self.quantity)
