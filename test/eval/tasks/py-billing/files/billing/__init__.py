from .invoice import Invoice, make_invoice
from .lines import Line

__all__ = ["Invoice", "Line", "make_invoice"]
