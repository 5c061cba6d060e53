// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestBadRunsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	tests := map[string]struct {
		name string
		spec string
		want []string
	}{
		"no spec at all":               {spec: "null", want: []string{"spec"}},
		"missing task":                 {spec: "{}", want: []string{"spec.task", "an Agentic run needs a task"}},
		"empty task":                   {spec: `{task: ""}`, want: []string{"spec.task"}},
		"task of blanks":               {spec: `{task: " \n\t "}`, want: []string{"spec.task"}},
		"task too long":                {spec: `{task: ` + strings.Repeat("x", 32769) + `}`, want: []string{"spec.task"}},
		"unknown tool":                 {spec: `{task: a, tools: [read, browser]}`, want: []string{"spec.tools[1]", "browser"}},
		"a tool twice":                 {spec: `{task: a, tools: [read, read]}`, want: []string{"spec.tools[1]"}},
		"unknown mode":                 {spec: `{task: a, mode: Batch}`, want: []string{"spec.mode"}},
		"code in an Agentic run":       {spec: `{task: a, code: {language: python, source: x}}`, want: []string{"spec.code", "code is for Oneshot runs"}},
		"task in a Oneshot run":        {spec: `{mode: Oneshot, task: a, code: {language: python, source: x}}`, want: []string{"spec.task", "task is for Agentic runs"}},
		"Oneshot run without code":     {spec: `{mode: Oneshot}`, want: []string{"spec.code", "a Oneshot run needs code"}},
		"unknown language":             {spec: `{mode: Oneshot, code: {language: ruby, source: x}}`, want: []string{"spec.code.language"}},
		"51 iterations":                {spec: `{task: a, limits: {maxIterations: 51}}`, want: []string{"spec.limits.maxIterations"}},
		"0 iterations":                 {spec: `{task: a, limits: {maxIterations: 0}}`, want: []string{"spec.limits.maxIterations"}},
		"0 seconds":                    {spec: `{task: a, limits: {timeoutSeconds: 0}}`, want: []string{"spec.limits.timeoutSeconds"}},
		"more than a day":              {spec: `{task: a, limits: {awaitingInputSeconds: 86401}}`, want: []string{"spec.limits.awaitingInputSeconds"}},
		"0 tokens":                     {spec: `{task: a, limits: {maxTokens: 0}}`, want: []string{"spec.limits.maxTokens"}},
		"file path with ..":            {spec: `{task: a, files: [{path: a/../b, content: x}]}`, want: []string{"spec.files[0].path", "a path stays in the workspace"}},
		"file path .":                  {spec: `{task: a, files: [{path: ., content: x}]}`, want: []string{"spec.files[0].path"}},
		"absolute file path":           {spec: `{task: a, files: [{path: /etc/passwd, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file path with a slash last":  {spec: `{task: a, files: [{path: a/, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file path with a line break":  {spec: `{task: a, files: [{path: "a\nb", content: x}]}`, want: []string{"spec.files[0].path"}},
		"file in .motor":               {spec: `{task: a, files: [{path: .motor/x, content: x}]}`, want: []string{"spec.files[0].path", "the operator's"}},
		"the file .motor":              {spec: `{task: a, files: [{path: .motor, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file without a source":        {spec: `{task: a, files: [{path: a}]}`, want: []string{"spec.files[0]", "either content or configMapKeyRef"}},
		"file with two sources":        {spec: `{task: a, files: [{path: a, content: x, configMapKeyRef: {name: c, key: k}}]}`, want: []string{"spec.files[0]", "either content or configMapKeyRef"}},
		"a file twice":                 {spec: `{task: a, files: [{path: a, content: x}, {path: a, content: y}]}`, want: []string{"spec.files[1]"}},
		"empty model":                  {spec: `{task: a, model: {name: ""}}`, want: []string{"spec.model.name"}},
		"no CPU at all":                {spec: `{task: a, sandbox: {resources: {cpu: "0"}}}`, want: []string{"spec.sandbox.resources.cpu"}},
		"negative memory":              {spec: `{task: a, sandbox: {resources: {memory: -1Gi}}}`, want: []string{"spec.sandbox.resources.memory"}},
		"no memory, as a number":       {spec: `{task: a, sandbox: {resources: {memory: 0}}}`, want: []string{"spec.sandbox.resources.memory"}},
		"no workspace":                 {spec: `{task: a, sandbox: {resources: {workspace: 0Mi}}}`, want: []string{"spec.sandbox.resources.workspace"}},
		"a quantity that is none":      {spec: `{task: a, sandbox: {resources: {workspace: big}}}`, want: []string{"spec.sandbox.resources.workspace"}},
		"the same response twice":      {spec: `{task: a, responses: [{id: a, answer: x}, {id: a, answer: y}]}`, want: []string{"spec.responses[1]"}},
		"empty answer":                 {spec: `{task: a, responses: [{id: a, answer: ""}]}`, want: []string{"spec.responses[0].answer"}},
		"name over 48 characters":      {name: strings.Repeat("n", 49), spec: "{task: a}", want: []string{"at most 48 characters"}},
		"domain that is a URL":         {spec: `{task: a, domains: ["https://example.org/x"]}`, want: []string{"spec.domains[0]", "not a URL"}},
		"domain after a good one":      {spec: `{task: a, domains: [example.org, localhost]}`, want: []string{"spec.domains[1]"}},
		"a domain twice":               {spec: `{task: a, domains: [example.org, example.org]}`, want: []string{"spec.domains[1]"}},
		"more domains than allowed":    {spec: `{task: a, domains: [` + manyDomains(65) + `]}`, want: []string{"spec.domains"}},
		"null where a list has a rule": {spec: `{task: a, responses: [{id: a}]}`, want: []string{"spec.responses[0].answer"}},
	}
	for _, d := range []string{
		"192.0.2.1", "192.0.2.1:443", "[2001:db8::1]", "localhost", "*", "*.", "*.org", "Example.org", "example.org.", ".example.org",
		"example..org", "-a.example.org", "a-.example.org", "a_b.example.org", "example.org:", "example.org:0", "example.org:65536",
		"example.org:99999", "example.org:123456", "example.org:https", "a.*.org", "**.example.org", "*.*.example.org", "foo.*",
		"example.org/", "user@example.org", "example.org\n", " example.org", "exämple.org", strings.Repeat("a", 64) + ".org", "example.1org",
	} {
		tests["domain "+fmt.Sprintf("%.20q", d)] = struct {
			name string
			spec string
			want []string
		}{spec: fmt.Sprintf(`{task: a, domains: [%s]}`, quote(d)), want: []string{"spec.domains[0]"}}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.name == "" {
				tt.name = "run"
			}
			err := admin.Create(ctx, runYAML(t, ns, tt.name, tt.spec), client.DryRunAll)
			wantRefused(t, err, tt.want...)
		})
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func manyDomains(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("h%d.example.org", i))
	}
	return strings.Join(list, ", ")
}

func TestGoodRunsAreAcceptedWithDefaults(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	limits := map[string]any{"maxIterations": int64(20), "timeoutSeconds": int64(600), "awaitingInputSeconds": int64(1800)}
	tests := map[string]struct {
		spec string
		want map[string]any
	}{
		"the least": {spec: `{task: a}`, want: map[string]any{
			"task": "a", "mode": "Agentic", "limits": limits, "responses": []any{},
		}},
		"a limit of its own": {spec: `{task: a, limits: {maxIterations: 50}}`, want: map[string]any{
			"task": "a", "mode": "Agentic", "responses": []any{},
			"limits": map[string]any{"maxIterations": int64(50), "timeoutSeconds": int64(600), "awaitingInputSeconds": int64(1800)},
		}},
		"null is the default": {spec: `{task: a, limits: null, mode: null, responses: null}`, want: map[string]any{
			"task": "a", "mode": "Agentic", "limits": limits, "responses": []any{},
		}},
		"Oneshot": {spec: `{mode: Oneshot, code: {language: javascript, source: "1"}}`, want: map[string]any{
			"mode": "Oneshot", "code": map[string]any{"language": "javascript", "source": "1"}, "limits": limits, "responses": []any{},
		}},
		"domains": {
			spec: `{task: a, domains: [example.org, "*.example.org", "a-b.c1.example.org:8443", "xn--exmple-cua.org:1", "e.co:65535"]}`,
			want: map[string]any{
				"task": "a", "mode": "Agentic", "limits": limits, "responses": []any{},
				"domains": []any{"example.org", "*.example.org", "a-b.c1.example.org:8443", "xn--exmple-cua.org:1", "e.co:65535"},
			},
		},
		"files": {
			spec: `{task: a, files: [{path: "data/März 2024.csv", content: ""}, {path: .hidden, configMapKeyRef: {name: c, key: k}}, {path: a..b/.motor, content: x}]}`,
			want: map[string]any{
				"task": "a", "mode": "Agentic", "limits": limits, "responses": []any{},
				"files": []any{
					map[string]any{"path": "data/März 2024.csv", "content": ""},
					map[string]any{"path": ".hidden", "configMapKeyRef": map[string]any{"name": "c", "key": "k"}},
					map[string]any{"path": "a..b/.motor", "content": "x"},
				},
			},
		},
		"every tool, a sandbox, a model": {
			spec: `{task: a, tools: [bash, code, read, write, list, ask_user], model: {name: m}, sandbox: {runtimeClassName: gvisor, resources: {cpu: 500m, memory: 1.5Gi, workspace: 1048576}}}`,
			want: map[string]any{
				"task": "a", "mode": "Agentic", "limits": limits, "responses": []any{}, "model": map[string]any{"name": "m"},
				"tools":   []any{"bash", "code", "read", "write", "list", "ask_user"},
				"sandbox": map[string]any{"runtimeClassName": "gvisor", "resources": map[string]any{"cpu": "500m", "memory": "1.5Gi", "workspace": int64(1048576)}},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := runYAML(t, ns, strings.Repeat("n", 48), tt.spec)
			must(t, admin.Create(ctx, o, client.DryRunAll))
			got, _, err := unstructured.NestedMap(o.Object, "spec")
			must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spec as stored (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that a Go client creates must not differ from one that a person writes: empty structs must not be sent.
func TestTypedRunIsAcceptedAndRoundTrips(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t), func(r *v1alpha1.MotorRun) {
		r.Spec = v1alpha1.MotorRunSpec{Task: "a"}
	})
	want := v1alpha1.MotorRunSpec{
		Mode: v1alpha1.ModeAgentic, Task: "a", Responses: []v1alpha1.Response{},
		Limits: v1alpha1.RunLimits{MaxIterations: 20, TimeoutSeconds: 600, AwaitingInputSeconds: 1800},
	}
	if diff := cmp.Diff(want, run.Spec); diff != "" {
		t.Errorf("spec as stored (-want +got):\n%s", diff)
	}
	must(t, admin.Update(ctx, run))
	if run.Generation != 1 {
		t.Errorf("an update without a change made generation %d", run.Generation)
	}
}

func TestMotorCortexSpecs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	tests := map[string]struct {
		name, spec string
		want       string
	}{
		"empty":                  {spec: `{}`},
		"whole":                  {spec: `{models: {motor: {model: m, baseURL: "https://host:8443/v1", apiKeySecretRef: {name: s, key: k}}, fast: {model: f}, default: {model: d, baseURL: "http://10.0.0.1/v1/"}}}`},
		"another name":           {name: "other", spec: `{}`, want: "its name is default"},
		"no model":               {spec: `{models: {motor: {baseURL: "https://host/v1"}}}`, want: "spec.models.motor.model"},
		"empty model":            {spec: `{models: {fast: {model: ""}}}`, want: "spec.models.fast.model"},
		"address without scheme": {spec: `{models: {motor: {model: m, baseURL: "host.example.org/v1"}}}`, want: "spec.models.motor.baseURL"},
		"another scheme":         {spec: `{models: {motor: {model: m, baseURL: "ftp://example.org"}}}`, want: "spec.models.motor.baseURL"},
		"address with a user":    {spec: `{models: {motor: {model: m, baseURL: "https://user:pass@example.org/v1"}}}`, want: "spec.models.motor.baseURL"},
		"address with a query":   {spec: `{models: {motor: {model: m, baseURL: "https://example.org/v1?key=1"}}}`, want: "spec.models.motor.baseURL"},
		"address with a blank":   {spec: `{models: {motor: {model: m, baseURL: "https://example.org/v 1"}}}`, want: "spec.models.motor.baseURL"},
		"Secret without a key":   {spec: `{models: {motor: {model: m, apiKeySecretRef: {name: s}}}}`, want: "spec.models.motor.apiKeySecretRef.key"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := runYAML(t, ns, "default", tt.spec)
			o.SetKind("MotorCortex")
			if tt.name != "" {
				o.SetName(tt.name)
			}
			err := admin.Create(ctx, o, client.DryRunAll)
			if tt.want == "" {
				must(t, err)
				return
			}
			wantRefused(t, err, tt.want)
		})
	}
}
