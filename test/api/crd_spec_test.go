// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestBadRunsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	tests := map[string]struct {
		name string
		spec string
		want []string
	}{
		"no spec at all":                 {spec: "null", want: []string{"spec"}},
		"missing task":                   {spec: "{}", want: []string{"spec.task", "an Agentic run needs a task"}},
		"empty task":                     {spec: `{task: ""}`, want: []string{"spec.task"}},
		"task of blanks":                 {spec: `{task: " \n\t "}`, want: []string{"spec.task"}},
		"task too long":                  {spec: `{task: ` + strings.Repeat("x", 32769) + `}`, want: []string{"spec.task"}},
		"unknown tool":                   {spec: `{task: a, tools: [read, browser]}`, want: []string{"spec.tools[1]", "browser"}},
		"a tool twice":                   {spec: `{task: a, tools: [read, read]}`, want: []string{"spec.tools[1]"}},
		"unknown mode":                   {spec: `{task: a, mode: Batch}`, want: []string{"spec.mode"}},
		"code in an Agentic run":         {spec: `{task: a, code: {language: python, source: x}}`, want: []string{"spec.code", "code is for Oneshot runs"}},
		"task in a Oneshot run":          {spec: `{mode: Oneshot, task: a, code: {language: python, source: x}}`, want: []string{"spec.task", "task is for Agentic runs"}},
		"files of a Oneshot run":         {spec: `{mode: Oneshot, code: {language: python, source: x}, files: [{path: a, content: x}]}`, want: []string{"spec.mode", "a Oneshot run has no tools, credentials, mcpServers or files"}},
		"tools of a Oneshot run":         {spec: `{mode: Oneshot, code: {language: python, source: x}, tools: [bash]}`, want: []string{"spec.mode", "a Oneshot run has no tools"}},
		"Oneshot run without code":       {spec: `{mode: Oneshot}`, want: []string{"spec.code", "a Oneshot run needs code"}},
		"a long time without domains":    {spec: `{mode: Oneshot, code: {language: python, source: x, timeoutMilliseconds: 5001}}`, want: []string{"spec.code", "at most 5000 in a run without domains"}},
		"too long a time":                {spec: `{mode: Oneshot, code: {language: python, source: x, timeoutMilliseconds: 30001}, domains: [example.org]}`, want: []string{"spec.code.timeoutMilliseconds"}},
		"too short a time":               {spec: `{mode: Oneshot, code: {language: python, source: x, timeoutMilliseconds: 99}}`, want: []string{"spec.code.timeoutMilliseconds"}},
		"unknown language":               {spec: `{mode: Oneshot, code: {language: ruby, source: x}}`, want: []string{"spec.code.language"}},
		"51 iterations":                  {spec: `{task: a, limits: {maxIterations: 51}}`, want: []string{"spec.limits.maxIterations"}},
		"0 iterations":                   {spec: `{task: a, limits: {maxIterations: 0}}`, want: []string{"spec.limits.maxIterations"}},
		"0 seconds":                      {spec: `{task: a, limits: {activeDeadlineSeconds: 0}}`, want: []string{"spec.limits.activeDeadlineSeconds"}},
		"more than 30 days":              {spec: `{task: a, limits: {inputDeadlineSeconds: 2592001}}`, want: []string{"spec.limits.inputDeadlineSeconds"}},
		"0 tokens":                       {spec: `{task: a, limits: {maxTokens: 0}}`, want: []string{"spec.limits.maxTokens"}},
		"file path with ..":              {spec: `{task: a, files: [{path: a/../b, content: x}]}`, want: []string{"spec.files[0].path", "a path stays in the workspace"}},
		"file path .":                    {spec: `{task: a, files: [{path: ., content: x}]}`, want: []string{"spec.files[0].path"}},
		"absolute file path":             {spec: `{task: a, files: [{path: /etc/passwd, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file path with a slash last":    {spec: `{task: a, files: [{path: a/, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file path with a line break":    {spec: `{task: a, files: [{path: "a\nb", content: x}]}`, want: []string{"spec.files[0].path"}},
		"file in .motor":                 {spec: `{task: a, files: [{path: .motor/x, content: x}]}`, want: []string{"spec.files[0].path", "the operator's"}},
		"the file .motor":                {spec: `{task: a, files: [{path: .motor, content: x}]}`, want: []string{"spec.files[0].path"}},
		"file without a source":          {spec: `{task: a, files: [{path: a}]}`, want: []string{"spec.files[0]", "one of content, configMapKeyRef and artifactRef"}},
		"file with two sources":          {spec: `{task: a, files: [{path: a, content: x, configMapKeyRef: {name: c, key: k}}]}`, want: []string{"spec.files[0]", "one of content, configMapKeyRef and artifactRef"}},
		"a file twice":                   {spec: `{task: a, files: [{path: a, content: x}, {path: a, content: y}]}`, want: []string{"spec.files[1]"}},
		"empty model":                    {spec: `{task: a, model: {name: ""}}`, want: []string{"spec.model.name"}},
		"no CPU at all":                  {spec: `{task: a, sandbox: {resources: {cpu: "0"}}}`, want: []string{"spec.sandbox.resources.cpu"}},
		"negative memory":                {spec: `{task: a, sandbox: {resources: {memory: -1Gi}}}`, want: []string{"spec.sandbox.resources.memory"}},
		"no memory, as a number":         {spec: `{task: a, sandbox: {resources: {memory: 0}}}`, want: []string{"spec.sandbox.resources.memory"}},
		"no workspace":                   {spec: `{task: a, sandbox: {resources: {workspace: 0Mi}}}`, want: []string{"spec.sandbox.resources.workspace"}},
		"a quantity that is none":        {spec: `{task: a, sandbox: {resources: {workspace: big}}}`, want: []string{"spec.sandbox.resources.workspace"}},
		"the same response twice":        {spec: `{task: a, responses: [{id: a, answer: x}, {id: a, answer: y}]}`, want: []string{"spec.responses[1]"}},
		"response of nobody":             {spec: `{task: a, responses: [{id: a, answer: x, respondedBy: ""}]}`, want: []string{"spec.responses[0].respondedBy"}},
		"acceptance of code":             {spec: `{mode: Oneshot, code: {language: python, source: x}, accept: {files: [a]}}`, want: []string{"spec.accept", "accept is for Agentic runs"}},
		"acceptance of a review":         {spec: `{task: a, skillRef: {name: s}, skillReview: true, accept: {files: [a]}}`, want: []string{"spec.accept", "no review of a skill"}},
		"a check without a command":      {spec: `{task: a, accept: {commands: [{command: " "}]}}`, want: []string{"spec.accept.commands[0].command"}},
		"a check that takes too long":    {spec: `{task: a, accept: {commands: [{command: x, timeoutSeconds: 301}]}}`, want: []string{"spec.accept.commands[0].timeoutSeconds"}},
		"too many checks":                {spec: `{task: a, accept: {commands: [` + strings.Repeat(`{command: x},`, 9) + `]}}`, want: []string{"spec.accept.commands"}},
		"a schema that is too long":      {spec: `{task: a, accept: {valueSchema: ` + strings.Repeat("x", 16385) + `}}`, want: []string{"spec.accept.valueSchema"}},
		"no attempt":                     {spec: `{task: a, maxAttempts: 0}`, want: []string{"spec.maxAttempts"}},
		"9 attempts":                     {spec: `{task: a, maxAttempts: 9}`, want: []string{"spec.maxAttempts"}},
		"empty guidance":                 {spec: `{task: a, responses: [{id: retry-1, decision: Retry, guidance: ""}]}`, want: []string{"spec.responses[0].guidance"}},
		"too much guidance":              {spec: `{task: a, responses: [{id: retry-1, decision: Retry, guidance: ` + strings.Repeat("g", 4097) + `}]}`, want: []string{"spec.responses[0].guidance"}},
		"retry that adds no such domain": {spec: `{task: a, responses: [{id: retry-1, decision: Retry, addDomains: ["*"]}]}`, want: []string{"spec.responses[0].addDomains[0]"}},
		"neither answer nor decision":    {spec: `{task: a, responses: [{id: a, respondedBy: me}]}`, want: []string{"spec.responses[0]", "either an answer or a decision"}},
		"answer and decision":            {spec: `{task: a, responses: [{id: a, respondedBy: me, answer: a, decision: Deny}]}`, want: []string{"spec.responses[0]", "either an answer or a decision"}},
		"credential without a host":      {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}}]}`, want: []string{"spec.credentials[0].hosts", "at least one host"}},
		"exposed credential with a host": {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], exposeToSandbox: true}]}`, want: []string{"spec.credentials[0].hosts"}},
		"credential named like PATH":     {spec: `{task: a, credentials: [{name: path, secretRef: {name: s, key: k}, hosts: [a.test]}]}`, want: []string{"spec.credentials[0].name", "meaning of its own"}},
		"credential in the Host header":  {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Header, name: Host}}]}`, want: []string{"spec.credentials[0].slot"}},
		"credential in no slot":          {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Cookie}}]}`, want: []string{"spec.credentials[0].slot"}},
		"slot without its name":          {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Header}}]}`, want: []string{"spec.credentials[0].slot", "name is required for the types Header and Query"}},
		"slot with a needless name":      {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Bearer, name: a}}]}`, want: []string{"spec.credentials[0].slot", "name is required for the types Header and Query"}},
		"slot of no header":              {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Header, name: a_b}}]}`, want: []string{"spec.credentials[0].slot", "letters, digits and hyphens"}},
		"slot of no parameter":           {spec: `{task: a, credentials: [{name: key, secretRef: {name: s, key: k}, hosts: [a.test], slot: {type: Query, name: "a b"}}]}`, want: []string{"spec.credentials[0].slot", "slot.name"}},
		"unknown policy":                 {spec: `{task: a, approval: {onUnknown: Retry}}`, want: []string{"spec.approval.onUnknown", "Person", "Model"}},
		"keeps something else":           {spec: `{task: a, keep: Everything}`, want: []string{"spec.keep", "Changes", "Artifacts", "Nothing"}},
		"priority too high":              {spec: `{task: a, priority: 1001}`, want: []string{"spec.priority"}},
		"priority too low":               {spec: `{task: a, priority: -1001}`, want: []string{"spec.priority"}},
		"no retry window":                {spec: `{task: a, limits: {retryDeadlineSeconds: 0}}`, want: []string{"spec.limits.retryDeadlineSeconds"}},
		"retry window over 30 days":      {spec: `{task: a, limits: {retryDeadlineSeconds: 2592001}}`, want: []string{"spec.limits.retryDeadlineSeconds"}},
		"removed before its end":         {spec: `{task: a, ttlSecondsAfterFinished: -1}`, want: []string{"spec.ttlSecondsAfterFinished"}},
		"kept over ten years":            {spec: `{task: a, ttlSecondsAfterFinished: 315360001}`, want: []string{"spec.ttlSecondsAfterFinished"}},
		"suspended with a word":          {spec: `{task: a, suspend: later}`, want: []string{"spec.suspend"}},
		"empty answer":                   {spec: `{task: a, responses: [{id: a, answer: ""}]}`, want: []string{"spec.responses[0].answer"}},
		"name over 48 characters":        {name: strings.Repeat("n", 49), spec: "{task: a}", want: []string{"at most 48 characters"}},
		"domain that is a URL":           {spec: `{task: a, domains: ["https://example.org/x"]}`, want: []string{"spec.domains[0]", "not a URL"}},
		"domain after a good one":        {spec: `{task: a, domains: [example.org, localhost]}`, want: []string{"spec.domains[1]"}},
		"a domain twice":                 {spec: `{task: a, domains: [example.org, example.org]}`, want: []string{"spec.domains[1]"}},
		"more domains than allowed":      {spec: `{task: a, domains: [` + manyDomains(65) + `]}`, want: []string{"spec.domains"}},
		"null where a list has a rule":   {spec: `{task: a, responses: [{id: a}]}`, want: []string{"spec.responses[0]"}},
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
			ctx := testContext(t)
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
	ns := newNamespace(ctx, t, withoutStamping, "true", withoutChecks, "true")
	limits := map[string]any{"maxIterations": int64(20), "activeDeadlineSeconds": int64(600), "inputDeadlineSeconds": int64(1800), "retryDeadlineSeconds": int64(1800), "approvalDeadlineSeconds": int64(900)}
	// What is stored is what was written, and these.
	defaults := map[string]any{
		"mode": "Agentic", "limits": limits, "maxAttempts": int64(3), "priority": int64(0), "responses": []any{}, "extractSkills": "OnSuccess",
		"keep": "Changes",
	}
	tests := map[string]struct {
		spec string
		want map[string]any
	}{
		"the least": {spec: `{task: a}`, want: map[string]any{"task": "a"}},
		"a limit of its own": {spec: `{task: a, limits: {maxIterations: 50, retryDeadlineSeconds: 1}}`, want: map[string]any{
			"task":   "a",
			"limits": map[string]any{"maxIterations": int64(50), "activeDeadlineSeconds": int64(600), "inputDeadlineSeconds": int64(1800), "retryDeadlineSeconds": int64(1), "approvalDeadlineSeconds": int64(900)},
		}},
		"null is the default": {
			spec: `{task: a, limits: null, mode: null, responses: null, maxAttempts: null, priority: null}`,
			want: map[string]any{"task": "a"},
		},
		"Oneshot": {spec: `{mode: Oneshot, code: {language: javascript, source: "1"}}`, want: map[string]any{
			"mode": "Oneshot", "code": map[string]any{"language": "javascript", "source": "1"},
		}},
		"Oneshot with a network": {
			spec: `{mode: Oneshot, code: {language: javascript, source: "1", timeoutMilliseconds: 30000, purpose: look, expectedOutput: a number}, domains: [example.org]}`, want: map[string]any{
				"mode": "Oneshot", "code": map[string]any{"language": "javascript", "source": "1", "timeoutMilliseconds": int64(30000), "purpose": "look", "expectedOutput": "a number"}, "domains": []any{"example.org"},
			},
		},
		"domains": {
			spec: `{task: a, domains: [example.org, "*.example.org", "a-b.c1.example.org:8443", "xn--exmple-cua.org:1", "e.co:65535"]}`,
			want: map[string]any{
				"task":    "a",
				"domains": []any{"example.org", "*.example.org", "a-b.c1.example.org:8443", "xn--exmple-cua.org:1", "e.co:65535"},
			},
		},
		"files": {
			spec: `{task: a, files: [{path: "data/März 2024.csv", content: ""}, {path: .hidden, configMapKeyRef: {name: c, key: k}}, {path: a..b/.motor, content: x}]}`,
			want: map[string]any{
				"task": "a",
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
				"task": "a", "model": map[string]any{"name": "m"},
				"tools":   []any{"bash", "code", "read", "write", "list", "ask_user"},
				"sandbox": map[string]any{"runtimeClassName": "gvisor", "resources": map[string]any{"cpu": "500m", "memory": "1.5Gi", "workspace": int64(1048576)}},
			},
		},
		"a person decides": {spec: `{task: a, approval: {}}`, want: map[string]any{
			"task": "a", "approval": map[string]any{"required": "Never", "onUnknown": "Person"},
		}},
		"attempts, turn and end": {
			spec: `{task: a, approval: {onUnknown: Model}, maxAttempts: 8, priority: -1000, suspend: true, ttlSecondsAfterFinished: 0}`,
			want: map[string]any{
				"task": "a", "approval": map[string]any{"required": "Never", "onUnknown": "Model"}, "maxAttempts": int64(8), "priority": int64(-1000),
				"suspend": true, "ttlSecondsAfterFinished": int64(0),
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			o := runYAML(t, ns, strings.Repeat("n", 48), tt.spec)
			must(t, admin.Create(ctx, o, client.DryRunAll))
			got, _, err := unstructured.NestedMap(o.Object, "spec")
			must(t, err)
			want := maps.Clone(defaults)
			maps.Copy(want, tt.want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spec as stored (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that a Go client creates must not differ from one that a person writes: empty structs must not be sent.
func TestTypedRunIsAcceptedAndRoundTrips(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t, withoutStamping, "true"), func(r *v1alpha1.MotorRun) {
		r.Spec = v1alpha1.MotorRunSpec{Task: "a"}
	})
	want := v1alpha1.MotorRunSpec{
		Mode: v1alpha1.ModeAgentic, Task: "a", MaxAttempts: 3, ExtractSkills: v1alpha1.ExtractOnSuccess, Keep: v1alpha1.KeepChanges, Responses: []v1alpha1.Response{},
		Limits: v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 1800, RetryDeadlineSeconds: 1800, ApprovalDeadlineSeconds: 900},
	}
	if diff := cmp.Diff(want, run.Spec); diff != "" {
		t.Errorf("spec as stored (-want +got):\n%s", diff)
	}
	must(t, admin.Update(ctx, run))
	if run.Generation != 1 {
		t.Errorf("an update without a change made generation %d", run.Generation)
	}
}

// keyring is a spec with an armored keyring that has blocks of those kinds.
func keyring(before string, kinds ...string) string {
	for _, kind := range kinds {
		before += fmt.Sprintf("-----BEGIN PGP %[1]s KEY BLOCK-----\n\nmDME\n-----END PGP %[1]s KEY BLOCK-----\n", kind)
	}
	return fmt.Sprintf(`{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: %q}}}`, before)
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
		"bounds":                 {spec: `{concurrency: {maxActive: 1000, whenBusy: Reject}, retention: {succeededSeconds: 0, failedSeconds: 315360000, maxSucceeded: 0, maxFailed: 10000}}`},
		"pools":                  {spec: `{sandbox: {pools: [a, b, c, d, e, f, g, ` + strings.Repeat("p", 40) + `]}}`},
		"too many pools":         {spec: `{sandbox: {pools: [a, b, c, d, e, f, g, h, i]}}`, want: "spec.sandbox.pools"},
		"a pool without a name":  {spec: `{sandbox: {pools: [""]}}`, want: "spec.sandbox.pools[0]"},
		"a pool of a long name":  {spec: `{sandbox: {pools: [` + strings.Repeat("p", 41) + `]}}`, want: "spec.sandbox.pools[0]"},
		"a pool twice":           {spec: `{sandbox: {pools: [a, a]}}`, want: "spec.sandbox.pools[1]"},
		"no place":               {spec: `{concurrency: {maxActive: 0}}`, want: "spec.concurrency.maxActive"},
		"too many places":        {spec: `{concurrency: {maxActive: 1001}}`, want: "spec.concurrency.maxActive"},
		"unknown when busy":      {spec: `{concurrency: {whenBusy: Wait}}`, want: "spec.concurrency.whenBusy"},
		"kept a negative time":   {spec: `{retention: {failedSeconds: -1}}`, want: "spec.retention.failedSeconds"},
		"kept over ten years":    {spec: `{retention: {succeededSeconds: 315360001}}`, want: "spec.retention.succeededSeconds"},
		"fewer than none kept":   {spec: `{retention: {maxSucceeded: -1}}`, want: "spec.retention.maxSucceeded"},
		"too many kept":          {spec: `{retention: {maxFailed: 10001}}`, want: "spec.retention.maxFailed"},
		"Secret without a key":   {spec: `{models: {motor: {model: m, apiKeySecretRef: {name: s}}}}`, want: "spec.models.motor.apiKeySecretRef.key"},
		"keyring":                {spec: keyring("", "PUBLIC")},
		"keyring of two blocks":  {spec: keyring("", "PUBLIC", "PUBLIC")},
		"keyring without an end": {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDME\n"}}}`, want: "spec.packages.apt.keyring"},
		"text before a keyring":  {spec: keyring("key:\n", "PUBLIC"), want: "spec.packages.apt.keyring"},
		"keyring of Windows":     {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----\r\n\r\nComment:\ta b\r\n-----END PGP PUBLIC KEY BLOCK-----\r\n"}}}`},
		"escape in a keyring":    {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n\e[2J\n-----END PGP PUBLIC KEY BLOCK-----\n"}}}`, want: "spec.packages.apt.keyring"},
		"é in a keyring":         {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\né\n-----END PGP PUBLIC KEY BLOCK-----\n"}}}`, want: "spec.packages.apt.keyring"},
		"keyring before a \\f":   {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [main], keyring: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n-----END PGP PUBLIC KEY BLOCK-----\f"}}}`, want: "spec.packages.apt.keyring"},
		"suite":                  {spec: `{packages: {apt: {url: "https://deb.example.org", suite: stable/}}}`},
		"suite of nothing":       {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie}}}`, want: "components are required"},
		"components of a path":   {spec: `{packages: {apt: {url: "https://deb.example.org", suite: "./", components: [main]}}}`, want: "components are required"},
		"component with a path":  {spec: `{packages: {apt: {url: "https://deb.example.org", suite: trixie, components: [updates/main]}}}`, want: "spec.packages.apt.components[0]"},
		"repository with a user": {spec: `{packages: {apt: {url: "https://me@deb.example.org", suite: "./"}}}`, want: "spec.packages.apt.url"},
		"line of a sources.list": {spec: `{packages: {apt: "https://deb.example.org trixie main"}}`, want: "spec.packages.apt"},
		"private keyring":        {spec: keyring("", "PUBLIC", "PRIVATE", "PUBLIC"), want: "public keys alone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
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

// A model ends its runs with a call unless its endpoint says otherwise.
func TestFinishIsACallByDefault(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cortex := &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(ctx, t), Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{Models: v1alpha1.ModelSet{
			Motor: &v1alpha1.ModelEndpoint{Model: "m"}, Default: &v1alpha1.ModelEndpoint{Model: "m", Finish: v1alpha1.FinishText},
		}},
	}
	must(t, admin.Create(ctx, cortex))
	if m := cortex.Spec.Models; m.Motor.Finish != v1alpha1.FinishCall || m.Default.Finish != v1alpha1.FinishText {
		t.Errorf("the endpoints have %q and %q", m.Motor.Finish, m.Default.Finish)
	}
}
