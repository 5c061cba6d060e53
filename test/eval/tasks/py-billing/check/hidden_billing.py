# SPDX-License-Identifier: Apache-2.0
import unittest
from decimal import Decimal as D

from billing import Line, make_invoice


class Hidden(unittest.TestCase):
    def test_half_up_once_a_line(self):
        self.assertEqual(make_invoice([Line("screw", D("0.335"), 3)]).total, D("1.01"))
        self.assertEqual(make_invoice([Line("nut", D("0.125"))]).total, D("0.13"))
        self.assertEqual(make_invoice([Line("a", D("0.125")), Line("b", D("0.125"))]).total, D("0.26"))

    def test_steps(self):
        for goods, total in (("99.99", "99.99"), ("100.00", "90.00"), ("499.99", "449.99"), ("500", "425.00")):
            self.assertEqual(make_invoice([Line("x", D(goods))]).total, D(total), goods)

    def test_percentage_is_of_the_goods(self):
        i = make_invoice([Line("x", D("100.00"))], voucher=15)
        self.assertEqual((i.goods, i.discount, i.voucher, i.total), (D("100.00"), D("10.00"), D("15.00"), D("75.00")))

    def test_never_negative(self):
        i = make_invoice([Line("x", D("100.00"))], voucher=95)
        self.assertEqual((i.voucher, i.total), (D("90.00"), D("0.00")))
        self.assertEqual(make_invoice([Line("x", D("5.00"))], voucher=20).voucher, D("5.00"))
