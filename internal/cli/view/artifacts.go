// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// contentKey of the ConfigMap of an artifact.
const contentKey = "content"

func (c Command) artifacts() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{
		Use: "artifacts RUN [get NAME]", Short: "List the files that a run left, or get one of them.",
		Example: `  kubectl motor artifacts portfolio
  kubectl motor artifacts portfolio get artifacts/report.md -o report.md
  kubectl motor artifacts portfolio get workspace.diff | git apply`,
	}, "get?", "NAME?")
	file := cmd.Flags().StringP("output", "o", "", "file to write it into, instead of standard output; it must not be there yet")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := verb.Arg(args, 2)
		switch {
		case len(args) > 1 && args[1] != "get":
			return verb.Misusedf("%q is not get", args[1])
		case len(args) > 1 && name == "":
			return verb.Misusedf("the NAME of the artifact is missing")
		case name == "" && *file != "":
			return verb.Misusedf("--output goes with get NAME")
		}
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if name == "" {
			c.listArtifacts(s)
			return nil
		}
		content, err := s.artifact(cmd.Context(), name)
		if err != nil {
			return err
		}
		return c.writeArtifact(content, name, *file)
	}
	return cmd
}

// kept are the files of the result, or of the last pause of a run that goes on.
func (s subject) kept() []v1alpha1.Artifact {
	if s.Status.Result != nil {
		return s.Status.Result.Artifacts
	}
	return s.Status.Artifacts
}

func (c Command) listArtifacts(s subject) {
	var rows [][]string
	for _, a := range s.kept() {
		where := "ConfigMap " + a.ConfigMapName
		switch {
		case a.Skipped != "":
			where = fmt.Sprintf("not kept: %s. %s", a.Skipped, show.Line(a.Message, unlimited))
		case a.ObjectKey != "":
			where = "bucket " + a.ObjectKey
		}
		if a.Provenance == "Web" {
			where += " (may come from the web)"
		}
		rows = append(rows, []string{show.Line(a.Path, unlimited), strconv.FormatInt(a.Size, 10), a.MediaType, where})
	}
	if len(rows) == 0 {
		fmt.Fprintf(c.Err, "%s has no artifacts.\n", s.Name)
		return
	}
	show.Table(c.Out, []string{"NAME", "SIZE", "TYPE", "WHERE"}, rows)
}

// artifact reads an artifact, and checks that it is the one that the run left.
func (s subject) artifact(ctx context.Context, name string) ([]byte, error) {
	i := slices.IndexFunc(s.kept(), func(a v1alpha1.Artifact) bool { return a.Path == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no artifact %q: \"kubectl motor artifacts %s\" lists them", s.Name, name, s.Name)
	}
	a := s.kept()[i]
	switch {
	case a.Skipped != "":
		return nil, fmt.Errorf("%q was not kept: %s. %s", name, a.Skipped, show.Line(a.Message, unlimited))
	case a.ObjectKey != "":
		return nil, fmt.Errorf("%q is in the bucket of the operator, under the key %s: get it from there", name, a.ObjectKey)
	}
	m := &corev1.ConfigMap{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: a.ConfigMapName}, m); err != nil {
		return nil, fmt.Errorf("get the ConfigMap %s/%s of the artifact: %w", s.Namespace, a.ConfigMapName, err)
	}
	content, ok := m.BinaryData[contentKey]
	if text, isText := m.Data[contentKey]; isText {
		content, ok = []byte(text), true
	}
	if sum := sha256.Sum256(content); !ok || a.SHA256 != "" && hex.EncodeToString(sum[:]) != a.SHA256 {
		return nil, fmt.Errorf("the ConfigMap %s/%s does not have the content that the run left", s.Namespace, a.ConfigMapName)
	}
	return content, nil
}

// writeArtifact writes bytes of a hostile origin: as they are into a file or a pipe, and never onto a terminal.
func (c Command) writeArtifact(content []byte, name, file string) (err error) {
	if file == "" {
		if c.Screen {
			show.Block(c.Out, "", string(content))
			return nil
		}
		_, err = c.Out.Write(content)
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		fmt.Fprintf(c.Err, "%s: %d bytes in %s\n", show.Line(name, unlimited), len(content), file)
	}
	return err
}
