import unittest
from decimal import Decimal

from billing import Line, make_invoice


class InvoiceTest(unittest.TestCase):
    def test_plain(self):
        invoice = make_invoice([Line("pen", Decimal("1.20"), 3), Line("pad", Decimal("4.00"))])
        self.assertEqual(invoice.total, Decimal("7.60"))

    def test_discount_from_a_hundred_on(self):
        self.assertEqual(make_invoice([Line("lamp", Decimal("100.00"))]).total, Decimal("100.00"))

    def test_voucher_is_never_more_than_the_goods(self):
        self.assertEqual(make_invoice([Line("pen", Decimal("5.00"))], voucher=20).total, Decimal("0.00"))

    def test_quantity(self):
        with self.assertRaises(ValueError):
            Line("pen", Decimal("1.00"), 0)
