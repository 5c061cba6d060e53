// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

// blankDescription stands where an author has to write. lint refuses it: a model chooses skills by their descriptions.
const blankDescription = "Say here what the skill does, and when to use it."

func (c Command) create() *cobra.Command {
	cmd := &cobra.Command{
		Use: "init DIR", Short: "Begin a skill: a SKILL.md in a folder, and a policy beside it.", Args: verb.Args("the DIR for the skill"),
		Long: `Begin a skill. DIR gets a SKILL.md, and the name of the skill is that of the folder. DIR.yaml, beside it, has the policy: a file in the folder would be
one of the skill. Nothing that is there is overwritten.`,
		Example: "  kubectl motor skill init weather --description 'Tells the weather of a city. Use it when a person asks for it.'",
	}
	description := cmd.Flags().String("description", blankDescription, "what the skill does, and when to use it")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return c.createSkill(args[0], *description) }
	return cmd
}

func (c Command) createSkill(dir, description string) error {
	name, err := nameOf(dir)
	if err != nil {
		return err
	}
	if err := skill.ValidName(name); err != nil {
		return verb.Misusedf("the folder has the name of the skill: %w", err)
	}
	// A text in JSON is one in YAML, whatever is in it.
	quoted, err := json.Marshal(description)
	if err != nil {
		return err
	}
	// So is a name that YAML takes for a number, a boolean or null.
	content := fmt.Sprintf("---\nname: %q\ndescription: %s\n---\n# %s\n\nWrite here what to do, step by step. Name the files that are needed, such as scripts/NAME and references/NAME.md.\n", name, quoted, name)
	if _, err := skill.ParseManifest([]byte(content)); err != nil {
		return verb.Misusedf("--description: %w", err)
	}
	policy := fmt.Sprintf(`apiVersion: motorcortex.dev/v1alpha1
kind: Skill
metadata:
  name: %q
spec:
  # What runs of the skill can use. "kubectl motor skill import" brings the files.
  policy:
    tools: [read]
    domains: []
`, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	made := filepath.Join(dir, skill.ManifestName)
	if err := writeNew(made, content); err != nil {
		return err
	}
	beside := policyFile(dir, name)
	if err := writeNew(beside, policy); err != nil {
		return errors.Join(err, os.Remove(made))
	}
	fmt.Fprintf(c.Out, "%s\n%s\n", shown(made), shown(beside))
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(path, content string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already, and is not overwritten", path)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
