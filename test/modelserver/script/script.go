// SPDX-License-Identifier: Apache-2.0

package script

import (
	"regexp"
	"text/template"
)

// Script is a checked conversation plan.
type Script struct {
	Name        string
	Description string
	// Window is how many tokens a request may have, 0 for any number.
	Window int

	follow   string
	turns    []turn
	position map[string]int
}

// Values of follow.
const (
	followCount  = "count"
	followCallID = "callID"
)

// turn is one place in the plan; a repeated turn stands there several times.
type turn struct {
	name         string
	alternatives []answer
}

// answer is what the model says if when holds.
type answer struct {
	when    when
	content *template.Template
	calls   []call
	finish  string
	faults  Faults
	goTo    string
}

// call is a tool call to make. raw, if there is one, wins over arguments.
type call struct {
	id, name  string
	arguments any
	raw       *template.Template
}

// when is a condition on a conversation; the zero value always holds.
type when struct {
	lastTool                         string
	lastToolOK                       *bool
	lastToolOutput, lastUser, system *regexp.Regexp
}
