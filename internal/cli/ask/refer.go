// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// references are the files of an answer that are in the cluster already.
type references struct{ configMaps, artifacts *[]string }

func bindReferences(cmd *cobra.Command) references {
	return references{
		cmd.Flags().StringArray("config-map", nil, "a file to go with the answer, out of a ConfigMap: NAME/KEY, or NAME/KEY=FILE. The run is given what is in it now, and nothing later."),
		cmd.Flags().StringArray("artifact", nil, "a file to go with the answer, out of another run: RUN/PATH, or RUN/PATH=FILE. The run is given what is in it now, and nothing later."),
	}
}

// read returns the files with the digest of their present content, so that nothing that is put in its place is taken for the answer.
func (r references) read(ctx context.Context, s *reply.Ask) ([]v1alpha1.ResponseFile, error) {
	var files []v1alpha1.ResponseFile
	for _, arg := range (*r.configMaps)[:min(len(*r.configMaps), asks.MaxFiles+1)] {
		name, key, to, err := cut("config-map", arg, "NAME/KEY")
		if err != nil {
			return nil, err
		}
		var cm corev1.ConfigMap
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Run.Namespace, Name: name}, &cm); err != nil {
			return nil, fmt.Errorf("--config-map %s: %w", arg, err)
		}
		digest := asks.DigestOfKey(&cm, key)
		if digest == "" {
			return nil, fmt.Errorf("--config-map %s: the ConfigMap %s has no key %q", arg, name, key)
		}
		files = append(files, v1alpha1.ResponseFile{Path: to, ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: key, Digest: digest}})
	}
	for _, arg := range (*r.artifacts)[:min(len(*r.artifacts), asks.MaxFiles+1)] {
		name, of, to, err := cut("artifact", arg, "RUN/PATH")
		if err != nil {
			return nil, err
		}
		var run v1alpha1.MotorRun
		if err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Run.Namespace, Name: name}, &run); err != nil {
			return nil, fmt.Errorf("--artifact %s: %w", arg, err)
		}
		digest := asks.DigestOfArtifact(&run, of)
		if digest == "" {
			return nil, fmt.Errorf("--artifact %s: the run %s has kept no artifact %q", arg, name, of)
		}
		files = append(files, v1alpha1.ResponseFile{Path: to, ArtifactRef: &v1alpha1.ArtifactRef{RunName: name, Path: of, Digest: digest}})
	}
	return files, nil
}

// cut divides the value of a flag into the object, what is meant of it, and the name of the file for the run, which is its last part by default.
func cut(flag, arg, form string) (object, of, to string, err error) {
	from, to, named := strings.Cut(arg, "=")
	object, of, found := strings.Cut(from, "/")
	if !found || object == "" || of == "" {
		return "", "", "", verb.Misusedf("--%s %q is %s, or %s=FILE", flag, arg, form, form)
	}
	if !named {
		to = path.Base(of)
	}
	if err := asks.CheckPath(to); err != nil {
		return "", "", "", verb.Misusedf("--%s %q: %v", flag, arg, err)
	}
	return object, of, to, nil
}
