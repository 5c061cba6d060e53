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
	// JSONL is an object in each line, for programs that read one after the other.
	JSONL Format = "jsonl"
)

var formats = []string{string(JSON), string(YAML), string(Name), string(JSONL)}

// Bind adds the flag -o.
func (f *Format) Bind(cmd *cobra.Command) {
	cmd.Flags().VarP(f, "output", "o", "json, yaml, name or jsonl, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // It fails for flags that are not there.
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

// Lines prints each value in a line.
func Lines[T any](w io.Writer, values []T) error {
	for _, v := range values {
		if err := Value(w, JSONL, v); err != nil {
			return err
		}
	}
	return nil
}

// Value prints anything that has a JSON form.
func Value(w io.Writer, f Format, v any) error {
	if f == JSONL {
		return json.NewEncoder(w).Encode(v)
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
