// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

func TestRunExceedsSkill(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		names  string
	}{
		"tool":       {func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"read", "write"} }, "write"},
		"domain":     {reaching("api.weather.test", "docs.weather.test"), "docs.weather.test"},
		"wildcard":   {reaching("*.weather.test"), "*.weather.test"},
		"credential": {func(run *v1alpha1.MotorRun) { using("other_key", "api.weather.test")(run) }, "other_key"},
		"host":       {using("service_key", "api.weather.test", "x.mail.weather.test"), "x.mail.weather.test"},
		"MCP server": {func(run *v1alpha1.MotorRun) {
			run.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "files", Command: []string{"server"}, Tools: []string{"get"}}}
		}, "mcpServers"},
		"file": {func(run *v1alpha1.MotorRun) {
			run.Spec.Files = []v1alpha1.InputFile{{Path: "data.csv", Content: new("")}, {Path: "scripts/send.sh", Content: new("#!/bin/sh\n")}}
		}, "spec.files[1]: scripts/send.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			r := approvedUsingRig(t, mailPolicy())
			r.use(tt.change)
			r.wantRefusal("SkillPolicyExceeded", tt.names)
		})
	}
}

func TestRunOfUnapprovedSkillIsRefused(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.MotorRun){
		"nothing of its own": func(*v1alpha1.MotorRun) {},
		"domains only":       reaching("docs.weather.test"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newUsingRig(t, mailPolicy())
			r.use(change)
			r.wantRefusal("SkillNotApproved", "mail is not approved (AwaitingApproval)")
		})
	}
}

// Without an approval, a credential of the policy is a credential that the run has to name, with every right that takes.
func TestUnapprovedSkillGivesNoCredential(t *testing.T) {
	r := newUsingRig(t, mailPolicy())
	r.use(func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"bash"} })
	r.start()
	r.wantWays("", "")
	if c := reach.Effective(r.run()).Spec.Credentials; len(c) > 0 {
		t.Errorf("%+v", c)
	}
}

func TestSkillInputs(t *testing.T) {
	policy := v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"read"}, Inputs: []v1alpha1.SkillInput{
		{Name: "to", Type: v1alpha1.InputString, Required: true},
		{Name: "copies", Type: v1alpha1.InputInteger, Default: new("1")},
		{Name: "urgent", Type: v1alpha1.InputBoolean},
		{Name: "kind", Type: v1alpha1.InputString, Options: []string{"letter", "card"}},
	}}
	given := func(pairs ...string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) {
			for i := 0; i+1 < len(pairs); i += 2 {
				run.Spec.Inputs = append(run.Spec.Inputs, v1alpha1.RunInput{Name: pairs[i], Value: pairs[i+1]})
			}
		}
	}
	for name, tt := range map[string]struct {
		change  func(*v1alpha1.MotorRun)
		refused string
		want    map[string]any
	}{
		"given":    {given("to", "3", "copies", "2", "urgent", "true", "kind", "card"), "", map[string]any{"to": "3", "copies": int64(2), "urgent": true, "kind": "card"}},
		"default":  {given("to", ""), "", map[string]any{"to": "", "copies": int64(1)}},
		"missing":  {given("copies", "2"), "to", nil},
		"unknown":  {given("to", "a", "from", "b"), "from", nil},
		"its type": {given("to", "a", "copies", "two"), "copies", nil},
		"options":  {given("to", "a", "kind", "parcel"), "kind", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := approvedUsingRig(t, policy)
			r.use(tt.change)
			if tt.refused != "" {
				r.wantRefusal("SkillInputInvalid", tt.refused)
				return
			}
			r.settle()
			r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
			inputs := reach.SkillInputs(r.run())
			if len(inputs) != len(tt.want) {
				t.Errorf("%+v", inputs)
			}
			for _, in := range inputs {
				if in.Value != tt.want[in.Name] {
					t.Errorf("%s is %#v", in.Name, in.Value)
				}
			}
		})
	}
}

// The skill's credentials are no way around the right to use their Secret.
func TestRequesterMayNotUseTheSkillsSecret(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.forbidUse()
	r.use()
	r.settle()
	r.want(v1alpha1.PhaseCreated, "Accepted False CredentialForbidden", "Stalled True CredentialForbidden")
	if r.pod() != nil {
		t.Error("there is a sandbox")
	}
}

func TestSkillCredentialWithoutSecret(t *testing.T) {
	policy := mailPolicy()
	policy.Credentials[0].SecretRef = nil
	t.Run("nobody names one", func(t *testing.T) {
		r := approvedUsingRig(t, policy)
		r.use()
		r.start()
		// Nobody has saved one yet.
		r.wantValues(map[string]string{})
		r.want(v1alpha1.PhaseRunning, "EgressReady True CredentialUnavailable")
	})
	t.Run("the run names one", func(t *testing.T) {
		r := approvedUsingRig(t, policy)
		// Nobody approved this Secret for the skill's hosts, so it names them itself.
		must(t, admin.Patch(r.ctx, &corev1.Secret{ObjectMeta: meta(r.ns, "keys")}, mergePatchOf(`{"metadata":{"annotations":{%q:"*.weather.test"}}}`, credential.AnnotationHosts)))
		r.use(using("service_key", "api.weather.test"))
		r.start()
		r.wantWays("api.weather.test *.mail.weather.test", "service_key")
		r.wantValues(map[string]string{"service_key": secretValue})
	})
}

// A run that came before its skill waits for it.
func TestRunWaitsForSkill(t *testing.T) {
	r := newUsingRig(t, mailPolicy())
	r.use(func(run *v1alpha1.MotorRun) { run.Spec.SkillRef.Name = "post" })
	r.wantBlocked("Accepted", "SkillNotFound", "post")
	r.skills.create("post", v1alpha1.SkillSpec{
		Source: inline("SKILL.md", skillMD("post", "Take a stamp.")), Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"read"}},
	})
	r.skills.step()
	r.skills.approve()
	r.skills.step()
	r.settle()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "Stalled ")
	if pin := r.pinned(); pin.Name != "post" || !pin.Approved {
		t.Errorf("%+v", pin)
	}
}
