// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestParseReason(t *testing.T) {
	t.Parallel()
	const whole = "ReasonX is a reason of A=True, B=False and C=Unknown (Kind).\n\nMeaning: It\nmeans.\n\nDo: Something."
	r, err := parseReason(constant{name: "ReasonX", value: "X", doc: doc{text: whole}})
	if err != nil || r.means != "It means." || r.do != "Something." || len(r.of) != 3 || r.of[2] != (condition{"C", "Unknown", "Kind", ""}) {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = parseReason(constant{name: "ReasonX", value: "X", doc: doc{text: strings.Replace(whole, " (Kind).", " of a Thing.", 1)}})
	if err != nil || r.of[0] != (condition{"A", "True", "", "Thing"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	for name, text := range map[string]string{
		"no comment":        "",
		"another name":      strings.Replace(whole, "ReasonX", "ReasonY", 1),
		"no status":         strings.Replace(whole, "A=True", "A", 1),
		"no meaning":        strings.Replace(whole, "Meaning: It\nmeans.\n\n", "", 1),
		"nothing to do":     strings.Replace(whole, "\n\nDo: Something.", "", 1),
		"another paragraph": whole + "\n\nMore of it.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r, err := parseReason(constant{name: "ReasonX", value: "X", doc: doc{text: text}}); err == nil {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestReasonsPage(t *testing.T) {
	t.Parallel()
	s := exampleSource(t)
	page, err := s.reasonsPage("# Introduction\n\nText.\n\n# Events\n\nAll.\n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "\n## Conditions of a Thing\n\n### Ready\n\n`Ready` is True when it can be used.\n\n#### Usable\n\n`Ready=True`: It can be used.\n\n## Events\n"
	if !strings.Contains(page, want) {
		t.Errorf("the page is\n%s", page)
	}
	s.reasons[0].of[0].name = "Gone"
	if _, err := s.reasonsPage(""); err == nil {
		t.Error("a reason of a condition that there is not passes")
	}
}
