// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/credential"
)

// A person who may write Secrets and not read them keeps credentials. No output has a value.
func TestCredentialsAreKept(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const old, fresh = "the-first-value", "the-second-value"
	dana := sitsIn(ctx, t, ns, "dana@"+ns, "create,patch,list,delete secrets", "list skills")
	get := sitsIn(ctx, t, ns, "gina@"+ns, "get,delete secrets", "list skills")
	wants := func(p *terminal, code int, in, line string, says ...string) {
		t.Helper()
		p = &terminal{p.t, p.config, strings.NewReader(in)}
		p.want(code, line, says...)
		_, out, errs := p.does(strings.Fields(line)...)
		for _, value := range []string{old, fresh} {
			if strings.Contains(out+errs, value) || strings.Contains(out+errs, base64.StdEncoding.EncodeToString([]byte(value))) {
				t.Errorf("%s shows a value: %s%s", line, out, errs)
			}
		}
	}
	secret := func(name string) *corev1.Secret {
		t.Helper()
		s := &corev1.Secret{}
		must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, s))
		return s
	}
	dana.types(old+"\n").want(0, "credential set weather --hosts api.weather.test", "secret/weather created")
	if s := secret("weather"); string(s.Data["value"]) != old || s.Type != corev1.SecretTypeOpaque || s.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentCredential {
		t.Errorf("type %s, labels %v", s.Type, s.Labels)
	}
	must(t, mergePatch(ctx, secret("weather"), `{"metadata":{"labels":{"team":"a"}},"data":{"other":"b3RoZXI="}}`))
	wants(dana, 0, fresh, "credential set weather", "secret/weather replaced")
	if s := secret("weather"); string(s.Data["value"]) != fresh || string(s.Data["other"]) != "other" || s.Labels["team"] != "a" || s.Annotations["motorcortex.dev/hosts"] != "api.weather.test" {
		t.Errorf("labels %v, annotations %v, %d keys", s.Labels, s.Annotations, len(s.Data))
	}

	// One that a run saved stays of its type. Secrets for something else are left alone.
	saved := &corev1.Secret{ObjectMeta: meta(ns, "saved"), Type: "motorcortex.dev/credential", Data: map[string][]byte{"value": []byte(old)}}
	saved.Labels = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential}
	login := &corev1.Secret{ObjectMeta: meta(ns, "login"), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}}
	frozen := &corev1.Secret{ObjectMeta: meta(ns, "frozen"), Immutable: new(true), Data: map[string][]byte{"value": []byte(old)}}
	for _, s := range []*corev1.Secret{saved, login, frozen} {
		must(t, admin.Create(ctx, s))
	}
	wants(dana, 0, fresh, "credential set saved", "secret/saved replaced", "note: it names no hosts")
	if s := secret("saved"); string(s.Data["value"]) != fresh || s.Type != "motorcortex.dev/credential" {
		t.Errorf("type %s", s.Type)
	}
	wants(dana, 1, fresh, "credential set login", "it is no credential")
	wants(dana, 0, fresh, "credential set weather --key token", "secret/weather has the key token added")
	wants(dana, 1, fresh, "credential set login --adopt --key x", "neither of type Opaque nor a credential that a run saved")
	wants(dana, 1, fresh, "credential set frozen --adopt", "immutable")
	if len(secret("login").Data) != 1 || string(secret("frozen").Data["value"]) != old {
		t.Error("a Secret for something else was changed")
	}
	wants(dana, 4, fresh, "credential set Not_A_Name", "the NAME is none that a Secret can have")
	wants(get, 1, fresh, "credential set weather", "forbidden")

	skill := skillOf(ns, "forecast", func(s *v1alpha1.Skill) {
		s.Spec.Policy = v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"api.weather.test"}, Credentials: []v1alpha1.SkillCredential{
			{Name: "weather_key", Hosts: []v1alpha1.Domain{"api.weather.test"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "weather", Key: "value"}},
		}}
	})
	skill.Spec.Approval = nil
	must(t, admin.Create(ctx, skill))
	before := skill.DeepCopy()
	skill.Status.State = v1alpha1.SkillApproved
	must(t, manager.Status().Patch(ctx, skill, client.MergeFrom(before)))
	wants(dana, 0, "", "credential list", "weather", "api.weather.test", "forecast", "saved")
	_, out, _ := dana.does("credential", "list", "-o", "json")
	var list struct{ Items []credential.Entry }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 2 || list.Items[1].Name != "weather" || !list.Items[1].Skills[0].Approved ||
		list.Items[1].ChangeTime.Before(list.Items[1].CreationTime) {
		t.Errorf("%v in\n%s", err, out)
	}
	wants(dana, 1, "", "credential list -A", "forbidden")

	get.types("n\n").want(1, "credential delete weather", "The approved skill forecast will miss it, as weather_key.", "nothing was deleted")
	get.types("").want(1, "credential delete login --yes", "is no credential")
	// What a person looked at is what goes, not what another made of that name before the answer.
	other := &meanwhile{line: strings.NewReader("y\n"), do: func() {
		must(t, admin.Delete(ctx, secret("weather")))
		must(t, admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "weather", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential}}, Data: map[string][]byte{"value": []byte(old)},
		}))
	}}
	(&terminal{t, get.config, other}).want(1, "credential delete weather", "delete the Secret "+ns+"/weather: ")
	get.types("y\n").want(0, "credential delete weather", "secret/weather deleted")
	if err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "weather"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}
