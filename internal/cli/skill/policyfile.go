// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// maxPolicyFile is the most bytes of a file with a policy. A Skill with its files takes less.
const maxPolicyFile = 4 << 20

// readPolicy reads a policy, or the one of the first Skill in a file, as it is in a cluster.
func readPolicy(file string) (*v1alpha1.SkillPolicy, error) {
	s, err := readSkill(file)
	if err != nil {
		return nil, err
	}
	return &s.Spec.Policy, nil
}

// readSkill is readPolicy with the name and the namespace that the file has, if it has them.
func readSkill(file string) (*v1alpha1.Skill, error) {
	data, err := readBounded(file)
	if err != nil {
		return nil, err
	}
	s, err := skillIn(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// readBounded reads a file of a user's choice.
func readBounded(file string) ([]byte, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxPolicyFile+1))
	if err == nil && len(data) > maxPolicyFile {
		err = fmt.Errorf("%s has more than %d MiB, which no policy has", file, maxPolicyFile>>20)
	}
	return data, err
}

// skillIn is the first Skill in a file, or one that has the policy that the file is, with the defaults of the API server.
func skillIn(data []byte) (*v1alpha1.Skill, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no Skill in it")
		}
		// A document that is nothing but a comment stands above many files.
		var kind *struct {
			Kind string `json:"kind"`
		}
		if err == nil {
			err = yaml.Unmarshal(document, &kind)
		}
		if err != nil {
			return nil, err
		}
		s := &v1alpha1.Skill{}
		switch {
		case kind == nil:
			continue
		case kind.Kind == "Skill":
			err = yaml.UnmarshalStrict(document, s)
		case kind.Kind == "":
			err = yaml.UnmarshalStrict(document, &s.Spec.Policy)
		default:
			continue
		}
		withDefaults(&s.Spec.Policy)
		return s, err
	}
}

// places finds lines in the document of a file that skillIn reads.
type places struct {
	root *yamlv3.Node
	// bare is true if the document is the policy itself.
	bare bool
}

var (
	yamlLine     = regexp.MustCompile(`\bline (\d+)\b`)
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	fieldPart    = regexp.MustCompile(`[A-Za-z]+|\[\d+\]`)
)

// locate reads a file for the places in it. The error is that of the parser, with its line.
func locate(data []byte) (places, int, error) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for {
		document := &yamlv3.Node{}
		switch err := decoder.Decode(document); {
		case errors.Is(err, io.EOF):
			return places{}, 0, nil
		case err != nil:
			line := 0
			if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
				line, _ = strconv.Atoi(found[1]) // A line that is too large to be one is none.
			}
			return places{}, line, err
		}
		if len(document.Content) == 0 || document.Content[0].Kind != yamlv3.MappingNode {
			continue
		}
		root := document.Content[0]
		if kind := child(root, "kind"); kind == nil || kind.Value == "Skill" {
			return places{root: root, bare: kind == nil}, 0, nil
		}
	}
}

// of is the line of the field that a message begins with, as in spec.policy.domains[0], or of the deepest part of it that is there. It is 0 if
// there is none.
func (p places) of(message string) int {
	if p.root == nil {
		return 0
	}
	if found := unknownField.FindStringSubmatch(message); found != nil {
		parts := strings.Split(found[1], ".")
		return lineOfKey(p.root, parts[len(parts)-1])
	}
	field, _, _ := strings.Cut(message, " ")
	field = strings.TrimSuffix(field, ":")
	if p.bare {
		field = strings.TrimPrefix(field, "spec.policy")
	}
	at, line := p.root, 0
	for _, part := range fieldPart.FindAllString(field, -1) {
		next := child(at, part)
		if next == nil {
			break
		}
		at, line = next, next.Line
	}
	return line
}

// ofValue is the line of the first text that is this, 0 if there is none.
func (p places) ofValue(value string) int {
	if p.root == nil {
		return 0
	}
	return lineOfText(p.root, value)
}

// child is the value of a key, or an entry of a list for [N]; nil if there is none.
func child(n *yamlv3.Node, part string) *yamlv3.Node {
	if index, isIndex := strings.CutPrefix(part, "["); isIndex {
		i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil || n.Kind != yamlv3.SequenceNode || i >= len(n.Content) {
			return nil
		}
		return n.Content[i]
	}
	if n.Kind != yamlv3.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == part {
			return n.Content[i+1]
		}
	}
	return nil
}

func lineOfKey(n *yamlv3.Node, key string) int {
	for i, c := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 && c.Value == key {
			return c.Line
		}
		if line := lineOfKey(c, key); line > 0 {
			return line
		}
	}
	return 0
}

func lineOfText(n *yamlv3.Node, text string) int {
	if n.Kind == yamlv3.ScalarNode && n.Value == text {
		return n.Line
	}
	for _, c := range n.Content {
		if line := lineOfText(c, text); line > 0 {
			return line
		}
	}
	return 0
}

// withDefaults fills in the defaults of the API server.
func withDefaults(p *v1alpha1.SkillPolicy) {
	for i := range p.Credentials {
		if p.Credentials[i].Slot.Type == "" {
			p.Credentials[i].Slot.Type = v1alpha1.SlotBearer
		}
	}
	for i := range p.Inputs {
		if p.Inputs[i].Type == "" {
			p.Inputs[i].Type = v1alpha1.InputString
		}
	}
	if a := p.Approval; a != nil {
		if a.Required == "" {
			a.Required = v1alpha1.ApprovalNever
		}
		if a.OnUnknown == "" {
			a.OnUnknown = v1alpha1.UnknownAskPerson
		}
	}
	if a := p.Accept; a != nil {
		for i := range a.Commands {
			if a.Commands[i].TimeoutSeconds == 0 {
				a.Commands[i].TimeoutSeconds = 60
			}
		}
	}
}
