// SPDX-License-Identifier: Apache-2.0

// Package output prints objects for programs, in the forms that kubectl has.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// Format is the form of the output: "" is for people.
type Format string

// Forms of the output.
const (
	ForPeople Format = ""
	JSON      Format = "json"
	YAML      Format = "yaml"
	Name      Format = "name"
	// JSONL is one JSON object in each line.
	JSONL Format = "jsonl"
)

var formats = []string{string(JSON), string(JSONL), string(YAML), string(Name)}

// Bind adds the flag -o.
func (f *Format) Bind(cmd *cobra.Command) {
	cmd.Flags().VarP(f, "output", "o", "json, jsonl (an object in each line), yaml or name, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // It fails for flags that are not there.
}

// BindOnly adds the flag -o of a verb that has some of the formats. usage says what they print.
func (f *Format) BindOnly(cmd *cobra.Command, usage string, some ...Format) {
	only := restricted{f, make([]string, 0, len(some))}
	for _, s := range some {
		only.formats = append(only.formats, string(s))
	}
	cmd.Flags().VarP(only, "output", "o", usage)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(only.formats, cobra.ShellCompDirectiveNoFileComp)) // As in Bind.
}

// restricted is a flag with some of the formats.
type restricted struct {
	*Format
	formats []string
}

// Set is called with what the user wrote.
func (r restricted) Set(s string) error {
	if !slices.Contains(r.formats, s) {
		return fmt.Errorf("it is none of %s", strings.Join(r.formats, ", "))
	}
	*r.Format = Format(s)
	return nil
}

// String, Set and Type make it a flag.
func (f *Format) String() string { return string(*f) }

// Set is called with what the user wrote.
func (f *Format) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("it is none of %s", strings.Join(formats, ", "))
	}
	*f = Format(s)
	return nil
}

// Type is a word for the help.
func (f *Format) Type() string { return "format" }

// Object prints an object.
func Object(w io.Writer, f Format, scheme *runtime.Scheme, o client.Object) error {
	if err := complete(scheme, o); err != nil {
		return err
	}
	if f == Name {
		return names(w, o)
	}
	return Value(w, f, o)
}

// List prints objects as one list.
func List[T client.Object](w io.Writer, f Format, scheme *runtime.Scheme, objects []T) error {
	items := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		if err := complete(scheme, o); err != nil {
			return err
		}
		items = append(items, o)
	}
	switch f {
	case Name:
		return names(w, items...)
	case JSONL:
		return Lines(w, items)
	case ForPeople, JSON, YAML:
	}
	return Value(w, f, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

// Value prints anything that has a JSON form.
func Value(w io.Writer, f Format, v any) error {
	if f == JSONL {
		return Lines(w, []any{v})
	}
	data, err := json.MarshalIndent(v, "", "    ")
	if err == nil && f == YAML {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.TrimSuffix(string(data), "\n"))
	return err
}

// Lines prints each value as JSON in a line.
func Lines[T any](w io.Writer, values []T) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, v := range values {
		if err := lines.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// complete writes the kind into an object, which clients leave out, and takes out what readers do not want.
func complete(scheme *runtime.Scheme, o client.Object) error {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	o.SetManagedFields(nil)
	return nil
}

func names(w io.Writer, objects ...client.Object) error {
	for _, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		if _, err := fmt.Fprintf(w, "%s.%s/%s\n", strings.ToLower(gvk.Kind), gvk.Group, o.GetName()); err != nil {
			return err
		}
	}
	return nil
}
