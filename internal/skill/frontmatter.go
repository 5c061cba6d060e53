// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxNodes and maxDepth bound the front matter. The standard needs a depth of 3.
const maxNodes, maxDepth = 4096, 16

// parseFront returns the mapping that the front matter is, with nothing in it that stands for something else.
func parseFront(front string) (*yaml.Node, error) {
	document, err := decodeFront(front)
	if err != nil {
		return nil, explainYAML(front, err)
	}
	if document == nil || len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		return nil, lineError(1, "the front matter is empty: add name and description")
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, lineError(root.Line, "the front matter has no keys: write name: and description: with their values")
	}
	nodes := maxNodes
	if err := checkNode(root, &nodes, 1); err != nil {
		return nil, err
	}
	return root, nil
}

// decodeFront returns the one document that the text is, nil if it is none.
func decodeFront(front string) (document *yaml.Node, err error) {
	defer func() {
		// The parser panics in cases that its author thought impossible. The text is hostile.
		if r := recover(); r != nil {
			document, err = nil, errors.New("it cannot be parsed")
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(front))
	document = new(yaml.Node)
	switch err := decoder.Decode(document); {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // text without a document is no error here
	case err != nil:
		return nil, err
	}
	switch err := decoder.Decode(new(yaml.Node)); {
	case errors.Is(err, io.EOF):
		return document, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("there are two documents in it")
}

var (
	yamlPosition = regexp.MustCompile(`^yaml: (line \d+: )?`)
	// yamlAdvice is the fix for the most frequent mistakes.
	yamlAdvice = map[string]string{
		"mapping values are not allowed in this context":  `there is ": " in a text without quotes, or the line is indented: put the text in quotes`,
		"found character that cannot start any token":     "no text without quotes begins in this way, and no line with a tab: put the text in quotes, or indent with spaces",
		"found a tab character that violates indentation": "the line is indented with a tab: use spaces",
		"could not find expected ':'":                     "this is neither a key with its value nor part of a text: write KEY: VALUE",
	}
)

// explainYAML is an error of the YAML parser with the line and advice. The parser often reports the line of a surrounding node. So the
// function searches for the line: it is the first one up to which the text produces that error.
func explainYAML(front string, err error) error {
	message := yamlPosition.ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(message, "exceeded max depth") {
		return depthError(1)
	}
	lines := strings.SplitAfter(front, "\n")
	line := 1 + sort.Search(len(lines)-1, func(i int) bool {
		_, err := decodeFront(strings.Join(lines[:i+1], ""))
		return err != nil && yamlPosition.ReplaceAllString(err.Error(), "") == message
	})
	if strings.HasPrefix(message, "unknown anchor") {
		return anchorError(line)
	}
	if advice := yamlAdvice[message]; advice != "" {
		return lineError(line, "%s", advice)
	}
	return lineError(line, "this is not valid YAML (%s): put texts in quotes and indent with spaces", text.CutBytes(text.Printable(message), 100))
}

func anchorError(line int) error {
	return lineError(line, "anchors and aliases (& and *) are not allowed: write the value out, or put the text in quotes")
}

func depthError(line int) error {
	return lineError(line, "values are nested more than %d deep: move them below the front matter", maxDepth)
}

// checkNode refuses what makes the front matter more than it looks, below the node too.
func checkNode(n *yaml.Node, left *int, depth int) error {
	*left--
	switch {
	case *left < 0:
		return lineError(n.Line, "the front matter has more than %d values: move what it says below it", maxNodes)
	case depth > maxDepth:
		return depthError(n.Line)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return anchorError(n.Line)
	case n.Style&yaml.TaggedStyle != 0 && !coreTag(n):
		return lineError(n.Line, "the tag %s is not allowed: take it away", quoted(n.Tag))
	}
	if n.Kind == yaml.MappingNode {
		if err := checkKeys(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := checkNode(child, left, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkKeys(mapping *yaml.Node) error {
	lines := make(map[string]int)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind == yaml.AliasNode {
			return anchorError(key.Line)
		}
		if key.Kind != yaml.ScalarNode {
			return lineError(key.Line, "a key must be a text: put what begins with { or [ in quotes")
		}
		if first, ok := lines[key.Value]; ok {
			return lineError(key.Line, "the key %s is there twice, first in line %d: take one away", quoted(key.Value), first)
		}
		lines[key.Value] = key.Line
	}
	return nil
}

// coreTag reports whether the tag of a node is the one that YAML's core schema has for its kind, or one of those for texts.
func coreTag(n *yaml.Node) bool {
	switch n.Tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null":
		return n.Kind == yaml.ScalarNode
	case "!!seq":
		return n.Kind == yaml.SequenceNode
	case "!!map":
		return n.Kind == yaml.MappingNode
	}
	return false
}

// frontReader extracts the standard's keys from the front matter.
type frontReader struct {
	front    Front
	warnings warningList
	// problems stand against the skill, each with its line.
	problems lineErrors
}

// read reads all keys in their order. root is the result of parseFront.
func (r *frontReader) read(root *yaml.Node) error {
	given := make(map[string]bool)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		given[key.Value] = true
		r.readKey(key, value)
	}
	for _, key := range []string{"name", "description"} {
		if !given[key] {
			r.problems = append(r.problems, lineError(1, "the front matter has no %s: add a line %s: with its value", key, key))
		}
	}
	if len(r.problems) > 0 {
		return r.problems
	}
	return nil
}

func (r *frontReader) readKey(key, value *yaml.Node) {
	switch key.Value {
	case "name":
		name, problem := scalar(key, value)
		if problem == "" {
			if err := ValidName(name); err != nil {
				problem = err.Error()
			}
		}
		r.front.Name = name
		r.required(key, problem)
	case "description":
		r.readDescription(key, value)
	case "license":
		license, problem := scalar(key, value)
		r.optional(key, problem, func() { r.front.License = license })
	case "compatibility":
		compatibility, problem := scalar(key, value)
		compatibility = strings.TrimSpace(compatibility)
		if problem == "" {
			problem = length(key, compatibility, MaxCompatibility)
		}
		r.optional(key, problem, func() { r.front.Compatibility = compatibility })
	case "metadata":
		r.readMetadata(key, value)
	case "allowed-tools":
		tools, problem := words(key, value)
		r.optional(key, problem, func() { r.front.AllowedTools = tools })
	default:
		r.warn(v1alpha1.FindingUnknownKey, key.Line, unknown(key.Value))
	}
}

// readDescription reads the description. One that is too long is cut to the limit of the lists of skills.
func (r *frontReader) readDescription(key, value *yaml.Node) {
	description, problem := scalar(key, value)
	description = strings.TrimSpace(description)
	if problem == "" && description == "" {
		problem = length(key, description, MaxDescription)
	}
	if long := length(key, description, MaxDescription); problem == "" && long != "" {
		r.warn(v1alpha1.FindingOddValue, key.Line, long+". Only its beginning is shown where skills are listed")
		description = strings.TrimSpace(string([]rune(description)[:MaxDescription]))
	}
	r.front.Description = description
	r.required(key, problem)
}

// standardKeys are those that the standard has.
var standardKeys = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

// unknown is the fix for a key that is not in the standard.
func unknown(key string) string {
	meant := strings.ReplaceAll(strings.ToLower(key), "_", "-")
	if slices.Contains(standardKeys, meant) {
		return fmt.Sprintf("the standard has no key %s: write it as %s", quoted(key), meant)
	}
	return fmt.Sprintf("the standard has no key %s: put it below metadata, or take it away", quoted(key))
}

// readMetadata takes those values of a mapping that are texts.
func (r *frontReader) readMetadata(key, value *yaml.Node) {
	if value.Tag == "!!null" {
		return
	}
	if value.Kind != yaml.MappingNode {
		r.optional(key, "metadata must have keys with texts: write each as KEY: VALUE below it", nil)
		return
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		name, entry := value.Content[i], value.Content[i+1]
		got, problem := scalar(name, entry)
		if problem == "" && strings.ContainsFunc(name.Value, unseen) {
			problem = fmt.Sprintf("the key %s has an invisible character: take it out", quoted(name.Value))
		}
		r.optional(name, problem, func() {
			if r.front.Metadata == nil {
				r.front.Metadata = make(map[string]string)
			}
			r.front.Metadata[name.Value] = got
		})
	}
}

// scalar is the text of a value. problem describes why it is invalid; it is "" if it is valid.
func scalar(key, value *yaml.Node) (got, problem string) {
	switch {
	case value.Kind != yaml.ScalarNode:
		return "", quoted(key.Value) + " must be one text, not a list or keys: write it as one, in quotes"
	case value.Tag == "!!null":
		return "", ""
	}
	for _, c := range value.Value {
		if unseen(c) {
			return "", fmt.Sprintf("%s has an invisible character (U+%04X): take it out", quoted(key.Value), c)
		}
	}
	return value.Value, ""
}

// words are the names that a value has, with one space between them. The standard takes a list too.
func words(key, value *yaml.Node) (got, problem string) {
	items := value.Content
	switch {
	case value.Kind == yaml.ScalarNode:
		items = []*yaml.Node{value}
	case value.Kind != yaml.SequenceNode:
		return "", quoted(key.Value) + " must be one text, or a list of texts: write names with a blank between them"
	}
	var all []string
	for _, item := range items {
		got, problem := scalar(key, item)
		if problem != "" {
			return "", problem
		}
		all = append(all, strings.Fields(got)...)
	}
	return strings.Join(all, " "), ""
}

// length describes the problem with the number of characters of a text; it returns "" if there is none.
func length(key *yaml.Node, s string, most int) string {
	if s == "" {
		return fmt.Sprintf("%s is empty: give it 1 to %d characters", quoted(key.Value), most)
	}
	if n := utf8.RuneCountInString(s); n > most {
		return fmt.Sprintf("%s has %d characters, and %d are the most: shorten it", quoted(key.Value), n, most)
	}
	return ""
}

// required notes a problem with a key that every skill must have right.
func (r *frontReader) required(key *yaml.Node, problem string) {
	if problem != "" {
		r.problems = append(r.problems, &LineError{key.Line, problem})
	}
}

// optional takes a value if there is no problem. If there is one, the value is omitted with a warning.
func (r *frontReader) optional(key *yaml.Node, problem string, take func()) {
	if problem == "" {
		take()
		return
	}
	r.warn(v1alpha1.FindingOddValue, key.Line, fmt.Sprintf("%s was left out: %s", quoted(key.Value), problem))
}

func (r *frontReader) warn(kind v1alpha1.FindingKind, line int, message string) {
	r.warnings.add(Warning{Kind: kind, Line: line, Message: message})
}
