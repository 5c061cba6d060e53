// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// object is the part of JSON schema that the definitions use.
type object struct {
	Type       any               `json:"type"`
	Properties map[string]object `json:"properties"`
	Items      *object           `json:"items"`
	Enum       []string          `json:"enum"`
	Required   []string          `json:"required"`
	// Additional is false, or the schema of values.
	Additional  any    `json:"additionalProperties"`
	Description string `json:"description"`
}

// An argument that a model is told of must be read, and one that is read must be told of.
func TestDefinitionsAndArgumentsAgree(t *testing.T) {
	t.Parallel()
	arguments := map[string]any{
		ToolAct: actArguments{}, ToolTask: taskArguments{}, ToolDecide: Decide{}, ToolSkill: skillArguments{}, ToolCredential: credentialArguments{}, ToolConsolidate: consolidateArguments{},
	}
	tools := Tools()
	if len(tools) != len(arguments) {
		t.Fatalf("there are %d tools, want %d", len(tools), len(arguments))
	}
	for _, tool := range tools {
		f := tool.Function
		if tool.Type != "function" || !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(f.Name) || len(f.Description) > 1024 {
			t.Errorf("%s: of type %s, with a description of %d bytes", f.Name, tool.Type, len(f.Description))
		}
		var s object
		if err := json.Unmarshal(f.Parameters, &s); err != nil {
			t.Fatal(err)
		}
		agree(t, f.Name, &s, reflect.TypeOf(arguments[f.Name]))
	}
}

// agree compares the properties of a schema with the fields of a struct.
func agree(t *testing.T, at string, s *object, of reflect.Type) {
	t.Helper()
	if s.Type != "object" || s.Additional != false {
		t.Errorf("%s: of type %v, with others %v", at, s.Type, s.Additional)
	}
	for _, name := range s.Required {
		if _, there := s.Properties[name]; !there {
			t.Errorf("%s requires %s, which it does not have", at, name)
		}
	}
	var fields []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
		p, there := s.Properties[name]
		if there && p.Items != nil && f.Type.Elem().Kind() == reflect.Struct {
			agree(t, at+"."+name, p.Items, f.Type.Elem())
		}
	}
	slices.Sort(fields)
	if told := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(told, fields) {
		t.Errorf("%s: the model is told of %v, and %v are read", at, told, fields)
	}
}

func TestCallsThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	tools := &Toolset{Client: newRig(t).Client}
	for _, tt := range []struct{ tool, arguments, says string }{
		{"core_say", `{}`, `there is no tool "core_say"`},
		{ToolTask, `{"action":"list","namespace":"other"}`, "unknown field"},
		{ToolTask, `{"action":"list"} {}`, "more than one"},
		{ToolTask, `[]`, "not what the tool takes"},
		{ToolTask, `{"action":"status"}`, "needs [runId]"},
		{ToolTask, `{"action":"delete","runId":"a"}`, "none of list, status"},
		{ToolTask, ``, "needs [runId]"},
		{ToolTask, `{"action":"deny","runId":"a"}`, "deny is an action of core_decide"},
		{ToolAct, `{"mode":"auto","task":"x"}`, "none of oneshot and agentic"},
		{ToolAct, `{"mode":"agentic","task":"x","timeout":-1}`, "not 100 to 86400000"},
		{ToolSkill, `{"action":"read"}`, "needs [name]"},
		{ToolSkill, `{"action":"x","name":"a"}`, "none of list, read"},
		{ToolCredential, `{"action":"get","secret":"a"}`, "none of list, set and delete"},
		{ToolConsolidate, `{"name":"a","files":[],"runs":[]}`, "name 1 to 20 runs"},
		{ToolAct, fmt.Sprintf(`{"task":%q}`, strings.Repeat("x", maxArguments)), "at most"},
	} {
		_, err := tools.Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil)
		wantError(t, err, tt.says)
	}
}
