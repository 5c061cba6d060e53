// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/credential"
)

const (
	// pageSize is how many objects are read in one request.
	pageSize = 500
	// maxColumn is the most bytes of a text in a column.
	maxColumn = 60
	// annotationSavedBy names the run that saved a credential.
	annotationSavedBy = "motorcortex.dev/saved-by-run"
)

// Entry is a credential, as programs get it. It has no value.
type Entry struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Missing is true if a skill names the Secret, and it is not there.
	Missing bool `json:"missing,omitempty"`
	// Hosts that the Secret says its value may be sent to.
	Hosts  []string `json:"hosts,omitempty"`
	Skills []Use    `json:"skills,omitempty"`
	// SavedByRun is the run that obtained the value.
	SavedByRun   string       `json:"savedByRun,omitempty"`
	CreationTime *metav1.Time `json:"creationTime,omitempty"`
	// ChangeTime is when a client last wrote the Secret.
	ChangeTime *metav1.Time `json:"changeTime,omitempty"`
	// Copied is true if kubectl apply has left a copy of a value in an annotation.
	Copied bool `json:"copied,omitempty"`
}

// Use is a skill whose policy names a credential.
type Use struct {
	Skill      string            `json:"skill"`
	Credential string            `json:"credential"`
	Key        string            `json:"key"`
	Hosts      []v1alpha1.Domain `json:"hosts"`
	// Approved is true if runs may use the skill now.
	Approved bool `json:"approved"`
}

func (c Command) list() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List credentials, and who may use them. Values are not shown.", Args: verb.Args(),
		Long: `List the Secrets with the label motorcortex.dev/component=credential, and those that skills name: the hosts that the value may be sent to, the skills whose
policy names it, the age, and the last change. Metadata alone is asked for. An annotation of kubectl apply in it can have a copy of a value: there is a warning then.`,
	}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "in all namespaces")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		if *everywhere {
			namespace = ""
		}
		uses, err := usesIn(cmd.Context(), cl, namespace)
		if apierrors.IsForbidden(err) {
			fmt.Fprintf(c.Err, "note: you may not list skills, so those that use a credential are left out: %s\n", show.Line(err.Error(), 256))
		} else if err != nil {
			return err
		}
		entries, err := entriesIn(cmd.Context(), cl, namespace, uses)
		if err != nil {
			return err
		}
		return c.print(format, entries, *everywhere, time.Now())
	}
	return cmd
}

// usesIn are the uses of Secrets by the skills of a namespace, of all namespaces if it is "".
func usesIn(ctx context.Context, cl client.Client, namespace string) (map[types.NamespacedName][]Use, error) {
	uses := map[types.NamespacedName][]Use{}
	for next := ""; ; {
		page := &v1alpha1.SkillList{}
		if err := cl.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Skills: %w", err)
		}
		for i := range page.Items {
			s := &page.Items[i]
			for _, p := range s.Spec.Policy.Credentials {
				if p.SecretRef == nil {
					continue
				}
				key := types.NamespacedName{Namespace: s.Namespace, Name: p.SecretRef.Name}
				uses[key] = append(uses[key], Use{
					Skill: s.Name, Credential: p.Name, Key: p.SecretRef.Key, Hosts: p.Hosts, Approved: s.Status.State == v1alpha1.SkillApproved,
				})
			}
		}
		if next = page.Continue; next == "" {
			return uses, nil
		}
	}
}

// entriesIn are the credentials of a namespace, by name: the labelled Secrets, and others that skills name.
func entriesIn(ctx context.Context, cl client.Client, namespace string, uses map[types.NamespacedName][]Use) ([]Entry, error) {
	found := map[types.NamespacedName]Entry{}
	for next := ""; ; {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := cl.List(ctx, page, client.InNamespace(namespace), client.MatchingLabels(labelled()), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list Secrets with the label %s=%s: %w", v1alpha1.LabelComponent, v1alpha1.ComponentCredential, err)
		}
		for i := range page.Items {
			key := client.ObjectKeyFromObject(&page.Items[i])
			found[key] = entry(&page.Items[i], uses[key])
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	for key, by := range uses {
		if _, known := found[key]; known {
			continue
		}
		head := secretHead()
		switch err := cl.Get(ctx, key, head); {
		case apierrors.IsNotFound(err):
			found[key] = Entry{Namespace: key.Namespace, Name: key.Name, Missing: true, Skills: by}
		case apierrors.IsForbidden(err):
			// Who may only list is shown what skills say.
			found[key] = Entry{Namespace: key.Namespace, Name: key.Name, Skills: by}
		case err != nil:
			return nil, fmt.Errorf("get the Secret %s: %w", key, err)
		default:
			found[key] = entry(head, by)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}), nil
}

func entry(s *metav1.PartialObjectMetadata, uses []Use) Entry {
	e := Entry{
		Namespace: s.Namespace, Name: s.Name, Skills: uses, SavedByRun: s.Annotations[annotationSavedBy],
		CreationTime: new(s.CreationTimestamp), ChangeTime: new(s.CreationTimestamp),
	}
	for h := range strings.SplitSeq(s.Annotations[credential.AnnotationHosts], ",") {
		if h = strings.TrimSpace(h); h != "" {
			e.Hosts = append(e.Hosts, h)
		}
	}
	_, e.Copied = s.Annotations[corev1.LastAppliedConfigAnnotation]
	for _, m := range s.ManagedFields {
		if m.Time != nil && m.Time.After(e.ChangeTime.Time) {
			e.ChangeTime = m.Time
		}
	}
	return e
}

func (c Command) print(f output.Format, entries []Entry, everywhere bool, now time.Time) error {
	switch f {
	case output.ForPeople:
	case output.Name:
		for _, e := range entries {
			fmt.Fprintf(c.Out, "secret/%s\n", e.Name)
		}
		return nil
	case output.JSONL:
		return output.Lines(c.Out, entries)
	case output.JSON, output.YAML:
		return output.Value(c.Out, f, map[string]any{"items": append([]Entry{}, entries...)})
	}
	if len(entries) == 0 {
		fmt.Fprintln(c.Err, "There are no credentials.")
		return nil
	}
	header := []string{"NAME", "HOSTS", "SKILLS", "AGE", "CHANGED", "SAVED BY"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := make([][]string, 0, len(entries))
	for _, e := range entries {
		row := []string{e.Name, show.Line(strings.Join(e.Hosts, ","), maxColumn), skills(e.Skills), since(now, e.CreationTime), since(now, e.ChangeTime), show.Line(e.SavedByRun, maxColumn)}
		if e.Missing {
			row[3] = "missing"
		}
		if everywhere {
			row = append([]string{e.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(c.Out, header, rows)
	for _, e := range entries {
		if e.Copied {
			fmt.Fprintf(c.Err, "warning: who may read the metadata of %s can read a value, of which kubectl apply has left a copy: kubectl annotate secret %s -n %s %s-\n",
				e.Name, e.Name, e.Namespace, corev1.LastAppliedConfigAnnotation)
		}
	}
	return nil
}

// skills are those that use a credential, in a few words.
func skills(uses []Use) string {
	all := make([]string, 0, len(uses))
	for _, u := range uses {
		name := u.Skill
		if !u.Approved {
			name += " (not approved)"
		}
		all = append(all, name)
	}
	return show.Line(strings.Join(slices.Compact(all), ", "), maxColumn)
}

func since(now time.Time, t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return show.Since(now, *t)
}
