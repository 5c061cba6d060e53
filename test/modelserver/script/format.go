// SPDX-License-Identifier: Apache-2.0

package script

// The types in this file are the YAML as it is written. They are checked and
// compiled once (see compile.go); nothing else reads them.

type rawScript struct {
	Name        string    `yaml:"name"`
	Description string    `yaml:"description"`
	Follow      string    `yaml:"follow"`
	Window      int       `yaml:"window"`
	Turns       []rawTurn `yaml:"turns"`
}

type rawTurn struct {
	Name         string `yaml:"name"`
	Repeat       *int   `yaml:"repeat"`
	rawAnswer    `yaml:",inline"`
	Alternatives []rawAnswer `yaml:"alternatives"`
}

type rawAnswer struct {
	When      *rawWhen   `yaml:"when"`
	Content   string     `yaml:"content"`
	ToolCalls []rawCall  `yaml:"toolCalls"`
	Finish    string     `yaml:"finish"`
	Fault     *rawFault  `yaml:"fault"`
	Faults    []rawFault `yaml:"faults"`
	Goto      string     `yaml:"goto"`
}

type rawWhen struct {
	LastTool              string `yaml:"lastTool"`
	LastToolOK            *bool  `yaml:"lastToolOK"`
	LastToolOutputMatches string `yaml:"lastToolOutputMatches"`
	LastUserMatches       string `yaml:"lastUserMatches"`
	SystemMatches         string `yaml:"systemMatches"`
}

type rawCall struct {
	ID           string         `yaml:"id"`
	Name         string         `yaml:"name"`
	Arguments    map[string]any `yaml:"arguments"`
	ArgumentsRaw *string        `yaml:"argumentsRaw"`
}

type rawFault struct {
	Kind              string `yaml:"kind"`
	Times             int    `yaml:"times"`
	Delay             string `yaml:"delay"`
	Status            int    `yaml:"status"`
	RetryAfterSeconds int    `yaml:"retryAfterSeconds"`
	Code              string `yaml:"code"`
	Message           string `yaml:"message"`
}
