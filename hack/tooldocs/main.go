// SPDX-License-Identifier: Apache-2.0

// The tooldocs command writes docs/reference/tools.md: what the model is told of each tool, from the structs that its calls are held
// to, and beside it limits, errors and an example.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/hack/markdown"
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

//go:embed tools.md.tmpl
var page string

func main() {
	out := flag.String("o", "docs/reference/tools.md", "file to write")
	flag.Parse()
	content, err := render()
	if err == nil {
		err = os.WriteFile(*out, content, 0o644)
	}
	if err != nil {
		slog.Error("docs/reference/tools.md cannot be written", "error", err)
		os.Exit(1)
	}
}

// tool is one tool as the page shows it.
type tool struct {
	Name, Description string
	Arguments         []argument
	note
}

// argument is one argument of a tool.
type argument struct {
	Name, Type, Description string
	Required                bool
}

func render() ([]byte, error) {
	tools, err := everyTool()
	if err != nil {
		return nil, err
	}
	t, err := template.New("tools").Funcs(template.FuncMap{"code": func(s string) string { return "`" + s + "`" }, "join": strings.Join}).Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Tools                                                            []tool
		Output, Bash, File, Arguments, Artifacts, Calls, Reads, ToolName int
		Sizes                                                            []size
	}{
		tools, toolapi.MaxOutputBytes >> 10, toolapi.MaxBashOutputBytes >> 10, toolapi.MaxFileBytes >> 20, toolapi.MaxArgumentsBytes >> 10,
		toolapi.MaxArtifacts, toolapi.MaxCalls, toolapi.MaxReads, toolapi.MaxToolName,
		sizes(),
	})
	return []byte(markdown.Wrap(b.String())), err
}

// size is how much the definitions of a set of tools take.
type size struct {
	Tools  string
	Tokens int
}

// sizes are those of sets that runs are often given.
func sizes() []size {
	const bytesPerToken, around = 4, len(`{"type":"function","function":{"name":"","description":"","parameters":}},`)
	var list []size
	for _, set := range [][]string{
		{toolapi.ToolBash},
		{toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolEdit, toolapi.ToolWrite},
		{
			toolapi.ToolBash, toolapi.ToolCode, toolapi.ToolRead, toolapi.ToolWrite, toolapi.ToolEdit, toolapi.ToolPatch, toolapi.ToolGlob, toolapi.ToolGrep,
		},
	} {
		bytes := 0
		for _, d := range catalog.Definitions(set) {
			bytes += around + len(d.Name) + len(d.Description) + len(d.Parameters)
		}
		list = append(list, size{"`" + strings.Join(set, ", ") + "`", (bytes + bytesPerToken - 1) / bytesPerToken})
	}
	return list
}

// everyTool puts together what the model is told and what the notes say.
func everyTool() ([]tool, error) {
	known := notes()
	var tools []tool
	for _, d := range catalog.Definitions(names(known)) {
		var s jsonschema.Schema
		if err := json.Unmarshal(d.Parameters, &s); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", d.Name, err)
		}
		tools = append(tools, tool{d.Name, d.Description, arguments(&s), known[d.Name]})
	}
	return tools, nil
}

func names(known map[string]note) []string {
	list := make([]string, 0, len(known))
	for name := range known {
		list = append(list, name)
	}
	return list
}

// arguments are those of a schema, the required ones first.
func arguments(s *jsonschema.Schema) []argument {
	var list []argument
	for _, name := range s.PropertyOrder {
		list = append(list, argument{name, typeOf(s.Properties[name]), s.Properties[name].Description, slices.Contains(s.Required, name)})
	}
	if len(list) == 0 {
		for name, p := range s.Properties {
			list = append(list, argument{name, typeOf(p), p.Description, slices.Contains(s.Required, name)})
		}
		slices.SortFunc(list, func(a, b argument) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortStableFunc(list, func(a, b argument) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return list
}

func typeOf(s *jsonschema.Schema) string {
	switch {
	case s.Type == "array" && s.Items != nil:
		return "list of " + s.Items.Type + "s"
	case s.Type == "object":
		return "object"
	}
	return s.Type
}
