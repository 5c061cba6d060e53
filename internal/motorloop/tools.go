// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Catalog is every tool there is, with the schemas that the model is shown and that its arguments are held to. It is
// never changed after NewCatalog and may be shared.
type Catalog struct {
	// tools are in the order in which the model is told of them.
	tools []catalogTool
}

type catalogTool struct {
	ToolDefinition
	schema *jsonschema.Schema
	whole  *jsonschema.Resolved
	// fields has the schema of each property alone, to find the one that an error is about.
	fields map[string]*jsonschema.Resolved
}

// NewCatalog describes the tools by the argument structs of toolapi. Names, types, descriptions and what is required
// come from the structs; what a Go type cannot say is added here. It panics if a struct cannot be described, which
// does not depend on any input.
func NewCatalog() *Catalog {
	return &Catalog{tools: []catalogTool{
		describe[toolapi.BashArgs](toolapi.ToolBash,
			"Runs a command line with bash in the workspace. Standard output and standard error come back together. "+
				"Every call is a new shell: variables and the current folder are not kept, files are. Nobody can type: "+
				"a command that waits for input is killed at its time limit, and so is a server left running.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["command"])
				between(p["timeoutSeconds"], 1, 300)
			}),
		describe[toolapi.CodeArgs](toolapi.ToolCode,
			"Runs a program in the workspace. What it prints is the output. Use it for every computation: do not "+
				"compute in your head what a program can compute.",
			func(p map[string]*jsonschema.Schema) {
				p["language"].Enum = []any{toolapi.LanguageJavaScript, toolapi.LanguagePython}
				notEmpty(p["source"])
				between(p["timeoutSeconds"], 1, 300)
			}),
		describe[toolapi.ReadArgs](toolapi.ToolRead,
			"Reads a text file of the workspace.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["path"])
				atLeast(p["offset"], 1)
				atLeast(p["limit"], 1)
			}),
		describe[toolapi.WriteArgs](toolapi.ToolWrite,
			"Writes a text file of the workspace. A large file is written in parts with append.",
			func(p map[string]*jsonschema.Schema) { notEmpty(p["path"]) }),
		describe[toolapi.ListArgs](toolapi.ToolList,
			"Lists files and folders of the workspace with their sizes.",
			func(map[string]*jsonschema.Schema) {}),
		describe[toolapi.AskUserArgs](toolapi.ToolAskUser,
			"Asks the person for whom you work and waits, perhaps for long. Ask only for what you can neither find out "+
				"nor decide yourself; ask before doing what cannot be undone and was not asked for.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["question"])
				p["question"].MaxLength = new(toolapi.MaxQuestion)
				// A nil slice is null to Go, but a list is all that the model is to give.
				p["options"].Type, p["options"].Types = "array", nil
				p["options"].MaxItems = new(toolapi.MaxOptions)
				notEmpty(p["options"].Items)
				p["options"].Items.MaxLength = new(toolapi.MaxOption)
				p["default"].MaxLength = new(toolapi.MaxOption)
			}),
		describe[toolapi.RequestDomainArgs](toolapi.ToolRequestDomain,
			"Asks the person to let the sandbox reach one more host, and waits, perhaps for long. Ask only for what the task "+
				"cannot do without, for one host at a time, and say what for.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["domain"])
				p["domain"].MaxLength = new(toolapi.MaxDomain)
				notEmpty(p["reason"])
				p["reason"].MaxLength = new(toolapi.MaxDomainReason)
			}),
		describe[toolapi.SaveCredentialArgs](toolapi.ToolSaveCredential,
			"Stores what a file of the workspace holds as a credential for later runs. The value is not shown to anybody, nor "+
				"should it be to you: have the answer that contains it written to a file, and cut it out into a file of its own with a "+
				"program. Delete both when it is stored. Never write a value into arguments or into an answer.",
			func(p map[string]*jsonschema.Schema) {
				notEmpty(p["name"])
				p["name"].MaxLength = new(toolapi.MaxCredentialName)
				notEmpty(p["path"])
				p["hosts"].Type, p["hosts"].Types = "array", nil
				p["hosts"].MinItems, p["hosts"].MaxItems = new(1), new(toolapi.MaxCredentialHosts)
				notEmpty(p["hosts"].Items)
				p["hosts"].Items.MaxLength = new(toolapi.MaxDomain)
			}),
	}}
}

// builtin gives the one Catalog that the loop uses. It is made at first use and never changed; making it takes so long
// that a loop that did it for each turn would spend more on it than on everything else.
var builtin = sync.OnceValue(NewCatalog)

// Definitions are the granted tools and ask_user as the model is told of them, in an order that does not depend on
// that of granted. Names that are no tools are left out.
func Definitions(granted []string) []ToolDefinition { return builtin().Definitions(granted) }

// Definitions is like the function of that name.
func (c *Catalog) Definitions(granted []string) []ToolDefinition {
	var defs []ToolDefinition
	for _, t := range c.tools {
		if t.Name == toolapi.ToolAskUser || slices.Contains(granted, t.Name) {
			defs = append(defs, t.ToolDefinition)
		}
	}
	return defs
}

// granted are the names of the tools that the run may use, beside ask_user.
func (cfg Config) granted() []string {
	if !cfg.RequestDomain {
		return cfg.Tools
	}
	return append(slices.Clone(cfg.Tools), toolapi.ToolRequestDomain)
}

// offered are the names of Definitions.
func (c *Catalog) offered(granted []string) []string {
	var names []string
	for _, d := range c.Definitions(granted) {
		names = append(names, d.Name)
	}
	return names
}

func (c *Catalog) knows(tool string) bool { return c.find(tool) != nil }

func (c *Catalog) find(tool string) *catalogTool {
	i := slices.IndexFunc(c.tools, func(t catalogTool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &c.tools[i]
}

// describe makes the entry of a tool whose arguments are T; refine gets T's properties by name.
func describe[T any](name, description string, refine func(map[string]*jsonschema.Schema)) catalogTool {
	t, err := tryDescribe[T](name, description, refine)
	if err != nil {
		panic(fmt.Sprintf("arguments of tool %s: %v", name, err))
	}
	return t
}

func tryDescribe[T any](
	name, description string, refine func(map[string]*jsonschema.Schema),
) (t catalogTool, err error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return t, err
	}
	refine(s.Properties)
	t = catalogTool{
		ToolDefinition: ToolDefinition{Name: name, Description: description},
		schema:         s,
		fields:         map[string]*jsonschema.Resolved{},
	}
	if t.Parameters, err = json.Marshal(s); err != nil {
		return t, err
	}
	for field, sub := range s.Properties {
		if t.fields[field], err = sub.CloneSchemas().Resolve(nil); err != nil {
			return t, err
		}
	}
	t.whole, err = s.Resolve(nil)
	return t, err
}

func notEmpty(s *jsonschema.Schema) { s.MinLength = new(1) }

func between(s *jsonschema.Schema, low, high float64) { s.Minimum, s.Maximum = &low, &high }

// atLeast leaves the maximum at that of the field's Go type, so that no value fits the schema that the tool server
// cannot decode.
func atLeast(s *jsonschema.Schema, low float64) { s.Minimum = &low }
