// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

// ociScheme is before the references of artifacts. They have none of their own.
const ociScheme = "oci://"

func (c Command) push() *cobra.Command {
	cmd := &cobra.Command{
		Use: "push DIR REGISTRY/REPOSITORY:TAG", Short: "Write the files of a skill into an OCI registry.",
		Args: verb.Args("the DIR with the files", "the REGISTRY/REPOSITORY:TAG"),
		Long: `Write the files of a skill into an OCI registry, as an artifact that spec.source.oci of a Skill can name. The same files have the same digest.

Credentials are those of the Docker configuration, as docker login, oras login and their helpers keep them.`,
		Example: `  kubectl motor skill push ./weather registry.example.com/skills/weather:v1
  kubectl motor skill import oci://registry.example.com/skills/weather:v1`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.pushFolder(cmd.Context(), args[0], args[1]) }
	return cmd
}

func (c Command) pushFolder(ctx context.Context, dir, reference string) error {
	files, _, err := readFolder(dir)
	if err != nil {
		return err
	}
	m, checked, err := skill.Check("", files)
	if err != nil {
		return err
	}
	reference = strings.TrimPrefix(reference, ociScheme)
	digest, err := (&skillsource.Pusher{}).Push(ctx, reference, checked)
	if err != nil {
		return fmt.Errorf("push the skill %s: %w", m.Name, err)
	}
	fmt.Fprintf(c.Out, "reference:   %s\ndigest:      %s\ncontentHash: %s\n", reference, digest, skill.ContentHash(checked))
	return nil
}
