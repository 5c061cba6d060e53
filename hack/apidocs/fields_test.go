// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

func TestFieldsOf(t *testing.T) {
	t.Parallel()
	s := exampleSource(t)
	list := append(s.fieldsOf("Thing", "ThingSpec", "spec", 1), s.fieldsOf("Thing", "ThingStatus", "status", 1)...)
	for i, want := range []documented{
		{path: "spec.mode", depth: 1, kind: "string, default Fast", text: "`mode` of it.", items: []string{"`Fast`: at once.", "`Slow`: later."}},
		{
			path: "spec.names", depth: 1, kind: "list of strings, at most 3 entries, each at most 9 characters, required",
			text: "`names` of it, as `spec.first` has them.", items: []string{`Rule: a thing has "names".`},
		},
		{path: "spec.first", depth: 1, kind: "object", text: "`first` part."},
		{path: "spec.first.inner", depth: 2, kind: "object", text: "`inner` part."},
		{path: "spec.first.inner.count", depth: 3, kind: "integer, 1 to 5", text: "`count` of it."},
		{path: "spec.first.inner.raw", depth: 3, kind: "base64, at most 8 characters", text: "`raw` bytes."},
		{path: "spec.second", depth: 1, kind: "list of objects", text: "`second` part.", items: []string{"Its fields are those of [`spec.first`](#specfirst)."}},
		{path: "status.part", depth: 1, kind: "object", text: "`part` of it.", items: []string{"Its fields are those of [`spec.first`](#specfirst)."}},
	} {
		if i >= len(list) {
			t.Fatalf("%d fields were found, and not %s", len(list), want.path)
		}
		got := list[i]
		if got.path != want.path || got.depth != want.depth || got.kind != want.kind || got.text != want.text || !slices.Equal(got.items, want.items) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestLinksToPlaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at         place
		from, want string
	}{
		"on the page":          {place{"MotorRun", "spec.limits"}, "MotorRun", "[`spec.limits`](#speclimits)"},
		"on another page":      {place{"MotorRun", "spec.limits.maxTokens"}, "Skill", "[`spec.limits.maxTokens` of a MotorRun](motorrun.md#speclimitsmaxtokens)"},
		"deeper than headings": {place{"Skill", "spec.policy.inputs.type"}, "Skill", "[`spec.policy.inputs.type`](#specpolicyinputs)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.at.link(tc.from); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
