// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

func (c Command) hash(_ context.Context, args []string) error {
	fs := pflag.NewFlagSet("hash", pflag.ContinueOnError)
	policy := fs.String("policy", "", "file with the policy, or with the Skill that has it")
	if err := verb.Parse(fs, args, "the DIR with the files"); err != nil {
		return err
	}
	files, err := read(fs.Arg(0))
	if err != nil {
		return err
	}
	m, asArchive, err := skill.Check("", files, skill.Lenient)
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(c.Err, "note: %s\n", shown(w.Message))
	}
	var policyHash string
	if *policy != "" {
		if policyHash, err = hashPolicy(*policy); err != nil {
			return err
		}
	}
	contentHash := skill.ContentHash(asArchive)
	c.compareStrict(files, contentHash)
	fmt.Fprintf(c.Out, "contentHash: %s\n", contentHash)
	if policyHash != "" {
		fmt.Fprintf(c.Out, "policyHash:  %s\n", policyHash)
	}
	return nil
}

// compareStrict says what becomes of the files as keys of ConfigMaps, if that is something else.
func (c Command) compareStrict(files []skill.File, contentHash string) {
	for i := range files {
		files[i].Executable = false
	}
	_, files, err := skill.Check("", files, skill.Strict)
	if err != nil {
		fmt.Fprintf(c.Err, "note: in spec.source.files and ConfigMaps, the files are refused: %s\n", shown(err.Error()))
		return
	}
	if plain := skill.ContentHash(files); plain != contentHash {
		fmt.Fprintf(c.Err, "note: out of ConfigMaps, which have no file modes, the contentHash is %s\n", plain)
	}
}

// read reads the files of a skill in a folder.
func read(dir string) ([]skill.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	var files []skill.File
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !belongs(name) {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is a link, or something else that is no file", shown(name))
		}
		f, err := readFile(root, name)
		files = append(files, f)
		return err
	})
	return files, errors.Join(err, root.Close())
}

// belongs says whether a skill has files at or below a path.
func belongs(name string) bool { return skill.Belongs(name) || skill.Belongs(name+"/any") }

// readFile reads a file, and no more of it than is needed to see that it is too large.
func readFile(root *os.Root, name string) (skill.File, error) {
	in, err := root.Open(name)
	if err != nil {
		return skill.File{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return skill.File{}, err
	}
	content, err := io.ReadAll(io.LimitReader(in, skill.MaxFileBytes+1))
	return skill.File{Path: name, Content: content, Executable: info.Mode()&0o111 != 0}, err
}

// hashPolicy reads a policy, or the first Skill in a file, and computes the hash that the policy has in a cluster.
func hashPolicy(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	policy, err := policyOf(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	withDefaults(policy)
	if err := skill.CheckPolicy(policy); err != nil {
		return "", fmt.Errorf("%s: the policy cannot be granted: %w", file, err)
	}
	return skill.PolicyHash(policy), nil
}

func policyOf(data []byte) (*v1alpha1.SkillPolicy, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is no Skill in it")
		}
		var kind struct {
			Kind string `json:"kind"`
		}
		if err == nil {
			err = yaml.Unmarshal(document, &kind)
		}
		if err != nil {
			return nil, err
		}
		switch kind.Kind {
		case "Skill":
			var s v1alpha1.Skill
			err := yaml.UnmarshalStrict(document, &s)
			return &s.Spec.Policy, err
		case "":
			var p v1alpha1.SkillPolicy
			err := yaml.UnmarshalStrict(document, &p)
			return &p, err
		}
	}
}

// withDefaults fills in what the API server does.
func withDefaults(p *v1alpha1.SkillPolicy) {
	for i := range p.Credentials {
		if p.Credentials[i].Slot == "" {
			p.Credentials[i].Slot = "bearer"
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
}
