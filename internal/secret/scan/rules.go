// SPDX-License-Identifier: Apache-2.0

package scan

import (
	_ "embed" // The rules are a file.
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed gitleaks/gitleaks.toml
var rulesFile string

// ruleSet are the rules, ready to be applied.
type ruleSet struct {
	ordered []rule
	// harmless applies to the findings of every rule.
	harmless []allowlist
	// keywords are of all rules. A rule is applied only to content that has a keyword of its own.
	keywords words
}

// rule finds one kind of secret: by its regular expression, in the files whose path fits. Either may be nil, but not both.
type rule struct {
	id          string
	regex, path *regexp.Regexp
	// secretGroup is the group of regex that is the secret; 0 is the first one that is not empty.
	secretGroup int
	// entropy is what a secret must exceed, 0 if any may be one.
	entropy  float64
	keywords []string
	harmless []allowlist
}

// allowlist describes findings of a rule that are harmless.
type allowlist struct {
	// all is true if everything in the list must hold, and false if one entry is enough.
	all            bool
	paths, regexes *regexp.Regexp
	// target is what regexes are tried on: "match", "line", or "" for the secret.
	target    string
	stopwords words
}

// rules takes a moment to make and some 10 MiB, which a process that scans nothing does not need. It is nil if there are none.
var rules = sync.OnceValue(func() *ruleSet {
	set, err := readRules(rulesFile)
	if err != nil {
		return nil
	}
	return set
})

// fileRules is a file of rules as gitleaks writes it. The struct has every key that the rules use, and a file with other keys is refused: a
// rule that is only half understood finds too much, or nothing.
type fileRules struct {
	Title      string     `toml:"title"`
	MinVersion string     `toml:"minVersion"`
	Allowlist  fileList   `toml:"allowlist"`
	Rules      []fileRule `toml:"rules"`
}

type fileRule struct {
	ID          string     `toml:"id"`
	Description string     `toml:"description"`
	Path        string     `toml:"path"`
	Regex       string     `toml:"regex"`
	SecretGroup int        `toml:"secretGroup"`
	Entropy     float64    `toml:"entropy"`
	Keywords    []string   `toml:"keywords"`
	Allowlists  []fileList `toml:"allowlists"`
}

type fileList struct {
	Description string   `toml:"description"`
	Condition   string   `toml:"condition"`
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
}

func readRules(file string) (*ruleSet, error) {
	var read fileRules
	if err := toml.NewDecoder(strings.NewReader(file)).DisallowUnknownFields().Decode(&read); err != nil {
		return nil, err
	}
	set := &ruleSet{}
	var keywords []string
	for _, from := range read.Rules {
		r, err := readRule(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from.ID, err)
		}
		set.ordered, keywords = append(set.ordered, r), append(keywords, r.keywords...)
	}
	var err error
	if set.harmless, err = readLists(read.Allowlist); err != nil {
		return nil, err
	}
	slices.Sort(keywords)
	set.keywords, err = newWords(slices.Compact(keywords))
	return set, err
}

func readRule(from fileRule) (rule, error) {
	r := rule{id: from.ID, secretGroup: from.SecretGroup, entropy: from.Entropy, keywords: lower(from.Keywords)}
	var err error
	if r.regex, err = oneOf(from.Regex); err != nil {
		return r, err
	}
	if r.path, err = oneOf(from.Path); err != nil {
		return r, err
	}
	if r.regex == nil && r.path == nil {
		return r, errors.New("the rule has no expression")
	}
	r.harmless, err = readLists(from.Allowlists...)
	return r, err
}

func readLists(from ...fileList) (lists []allowlist, err error) {
	for _, f := range from {
		list := allowlist{target: f.RegexTarget}
		switch f.Condition {
		case "", "OR":
		case "AND":
			list.all = true
		default:
			return nil, errors.New("the condition " + f.Condition + " is unknown")
		}
		switch f.RegexTarget {
		case "", "match", "line":
		default:
			return nil, errors.New("the target " + f.RegexTarget + " is unknown")
		}
		if list.paths, err = oneOf(f.Paths...); err != nil {
			return nil, err
		}
		if list.regexes, err = oneOf(f.Regexes...); err != nil {
			return nil, err
		}
		if list.stopwords, err = newWords(lower(f.StopWords)); err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func lower(texts []string) []string {
	small := make([]string, len(texts))
	for i, text := range texts {
		small[i] = strings.ToLower(text)
	}
	return small
}

// oneOf returns the expression that fits where one of those fits, nil if there are none. It joins them as gitleaks does: a flag that one
// of them sets holds for those after it too.
func oneOf(expressions ...string) (*regexp.Regexp, error) {
	joined := strings.Join(expressions, "|")
	if joined == "" {
		return nil, nil //nolint:nilnil // No expression is no error.
	}
	return regexp.Compile(joined)
}

// allows reports whether the list takes a match for harmless. around is the match with the remainder of its lines.
func (l allowlist) allows(name, match, secret, around string) bool {
	target := secret
	switch l.target {
	case "match":
		target = match
	case "line":
		target = around
	}
	byRegex := l.regexes != nil && target != "" && l.regexes.MatchString(target)
	byWord := l.stopwords.anyIn(secret)
	if !l.all {
		return byRegex || byWord
	}
	return (l.regexes == nil || byRegex) && (l.stopwords.places == nil || byWord) && (l.paths == nil || l.fitsPath(name))
}

// allowsFile reports whether the list takes a whole file for harmless by its name.
func (l allowlist) allowsFile(name string) bool {
	alone := !l.all || l.regexes == nil && l.stopwords.places == nil
	return alone && l.fitsPath(name)
}

func (l allowlist) fitsPath(name string) bool {
	return name != "" && l.paths != nil && l.paths.MatchString(name)
}
