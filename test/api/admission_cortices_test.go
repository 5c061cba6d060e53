// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// cortexWriter has the rights of motorcortex-admin on the MotorCortex, and those of a reader on it.
var cortexWriter = rights{"create,get,update,patch motorcortices"}

const (
	noService  = "'motorcortex-service-secrets'"
	noReceiver = "'motorcortex-receiver-secrets'"
)

func keyOf(secret, key string) *v1alpha1.SecretKeyRef {
	return &v1alpha1.SecretKeyRef{Name: secret, Key: key}
}

// senders are the places of a MotorCortex that have Secrets sent, each with a Secret and a destination, and the policy that looks at it.
var senders = map[string]struct {
	policy string
	set    func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string)
}{
	"models.motor": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Models.Motor = &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://" + host + "/v1", APIKeySecretRef: ref}
	}},
	"models.fast": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Models.Fast = &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://" + host + "/v1", APIKeySecretRef: ref}
	}},
	"models.default": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Models.Default = &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://" + host + "/v1", APIKeySecretRef: ref}
	}},
	"search": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Search = &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, URL: "https://" + host, APIKeySecretRef: ref}
	}},
	"sinks, authorization": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Signals = &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{{Name: "a", URL: "https://" + host, AuthorizationSecretRef: ref}}}
	}},
	"sinks, signing key": {noService, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		spec.Signals = &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{{Name: "a", URL: "https://" + host, SigningKeySecretRef: ref}}}
	}},
	"receivers, webhook": {noReceiver, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		receive(spec, v1alpha1.NotificationReceiver{Webhook: &v1alpha1.WebhookReceiver{URL: "https://" + host, SigningKeySecretRef: ref}})
	}},
	"receivers, user name": {noReceiver, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		receive(spec, mailOf(host, ref, keyOf("mine", "key")))
	}},
	"receivers, password": {noReceiver, func(spec *v1alpha1.MotorCortexSpec, ref *v1alpha1.SecretKeyRef, host string) {
		receive(spec, mailOf(host, keyOf("mine", "key"), ref))
	}},
}

func receive(spec *v1alpha1.MotorCortexSpec, r v1alpha1.NotificationReceiver) {
	r.Name = "a"
	spec.Notifications = &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{r}}
}

func mailOf(host string, user, password *v1alpha1.SecretKeyRef) v1alpha1.NotificationReceiver {
	return v1alpha1.NotificationReceiver{Email: &v1alpha1.EmailReceiver{
		Host: host, Sender: "motor@example.org", Recipients: []v1alpha1.MailAddress{"team@example.org"}, UsernameSecretRef: user, PasswordSecretRef: password,
	}}
}

// Who may write the MotorCortex of a namespace cannot have the manager send what they cannot read. A client that reads no Secret can change all else.
func TestSecretIsSentForThoseWhoMayReadIt(t *testing.T) {
	t.Parallel()
	for place, tt := range senders {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			ns := newNamespace(ctx, t)
			c := person(ctx, t, ns, "writer@"+ns, with(cortexWriter, rights{"get secrets mine"}))
			cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName)}
			of := func(ref *v1alpha1.SecretKeyRef, host string) *v1alpha1.MotorCortex {
				o := cortex.DeepCopy()
				tt.set(&o.Spec, ref, host)
				return o
			}
			const here, there = "service.example.org", "elsewhere.example.org"
			mine, theirs := keyOf("mine", "key"), keyOf("theirs", "key")
			refusal := []string{tt.policy, "That needs the verb get on the Secret", ": theirs"}
			wantRefused(t, dryRun(c).Create(ctx, of(theirs, here)), refusal...)
			must(t, dryRun(c).Create(ctx, of(mine, here)))

			cortex = of(theirs, here)
			must(t, admin.Create(ctx, cortex))
			changed := of(theirs, here)
			changed.Spec.Retention.MaxFailed = new(int32(7))
			changed.Annotations = map[string]string{"example.org/synced": "true"}
			must(t, dryRun(c).Update(ctx, changed))
			wantRefused(t, dryRun(c).Update(ctx, of(theirs, there)), refusal...)
			wantRefused(t, dryRun(c).Update(ctx, of(keyOf("theirs", "other"), here)), refusal...)
			wantRefused(t, dryRun(c).Update(ctx, of(keyOf("third", "key"), here)), tt.policy, ": third")
			must(t, dryRun(c).Update(ctx, of(mine, there)))
			without := cortex.DeepCopy()
			without.Spec = v1alpha1.MotorCortexSpec{}
			must(t, dryRun(c).Update(ctx, without))
			must(t, dryRun(admin).Update(ctx, of(theirs, there)))
		})
	}
}

// The role that comes with admin, bound by itself, reads no Secret, and so has none sent. Together with a right on one it does.
func TestAdminWhoReadsNoSecretHasNoneSent(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	user := "admin@" + ns
	bind(ctx, t, ns, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "motorcortex-admin"})
	awaitRight(ctx, t, user, attributes(ns, "create motorcortex.dev motorcortices"))
	c, err := clientAs(user)
	must(t, err)
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName)}
	must(t, dryRun(c).Create(ctx, cortex.DeepCopy()))
	senders["models.motor"].set(&cortex.Spec, keyOf("theirs", "key"), "elsewhere.example.org")
	wantRefused(t, dryRun(c).Create(ctx, cortex.DeepCopy()), noService, user+" may not have a Secret sent", ": theirs")
	person(ctx, t, ns, user, rights{"get secrets theirs"})
	must(t, dryRun(c).Create(ctx, cortex.DeepCopy()))
}

// What else decides where a value goes counts as the destination, too, and a use that is there already is none that is new.
func TestDestinationOfASecret(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	c := dryRun(person(ctx, t, ns, "writer@"+ns, cortexWriter))
	theirs := keyOf("theirs", "key")
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Models:  v1alpha1.ModelSet{Motor: &v1alpha1.ModelEndpoint{Model: "m", APIKeySecretRef: theirs}},
		Search:  &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, URL: "https://search.example.org", APIKeySecretRef: theirs},
		Signals: &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{{Name: "a", URL: "https://sink.example.org", AuthorizationSecretRef: theirs}}},
		Notifications: &v1alpha1.Notifications{Receivers: []v1alpha1.NotificationReceiver{
			{Name: "mail", Email: mailOf("mail.example.org", theirs, theirs).Email},
			{Name: "slack", Slack: &v1alpha1.SlackReceiver{URLSecretRef: *theirs}},
			{Name: "webhook", Webhook: &v1alpha1.WebhookReceiver{URL: "https://hook.example.org", SigningKeySecretRef: theirs}},
		}},
	}}
	must(t, admin.Create(ctx, cortex))
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorCortexSpec)
		policy string
	}{
		"an address in place of the manager's": {func(s *v1alpha1.MotorCortexSpec) { s.Models.Motor.BaseURL = "https://elsewhere.example.org/v1" }, noService},
		"another kind of search provider":      {func(s *v1alpha1.MotorCortexSpec) { s.Search.Type = v1alpha1.SearchSearXNG }, noService},
		"Brave's own address":                  {func(s *v1alpha1.MotorCortexSpec) { s.Search.URL = "" }, noService},
		"other authorities of a sink":          {func(s *v1alpha1.MotorCortexSpec) { s.Signals.Sinks[0].CABundle = "x" }, noService},
		"a signing key that was a header": {func(s *v1alpha1.MotorCortexSpec) {
			s.Signals.Sinks[0].AuthorizationSecretRef, s.Signals.Sinks[0].SigningKeySecretRef = nil, theirs
		}, noService},
		"another port of the mail server":    {func(s *v1alpha1.MotorCortexSpec) { s.Notifications.Receivers[0].Email.Port = 2525 }, noReceiver},
		"other authorities of it":            {func(s *v1alpha1.MotorCortexSpec) { s.Notifications.Receivers[0].Email.CABundle = "x" }, noReceiver},
		"other authorities of a webhook":     {func(s *v1alpha1.MotorCortexSpec) { s.Notifications.Receivers[2].Webhook.CABundle = "x" }, noReceiver},
		"another URL of Slack":               {func(s *v1alpha1.MotorCortexSpec) { s.Notifications.Receivers[1].Slack.URLSecretRef.Name = "other" }, noReceiver},
		"a model that the endpoint has, too": {func(s *v1alpha1.MotorCortexSpec) { s.Models.Motor.Model = "other" }, ""},
		"the same model for another role":    {func(s *v1alpha1.MotorCortexSpec) { s.Models.Default, s.Models.Motor = s.Models.Motor, nil }, ""},
		"another name of a sink":             {func(s *v1alpha1.MotorCortexSpec) { s.Signals.Sinks[0].Name = "b" }, ""},
		"another recipient": {func(s *v1alpha1.MotorCortexSpec) {
			s.Notifications.Receivers[0].Email.Recipients = []v1alpha1.MailAddress{"other@example.org"}
		}, ""},
		"buttons": {func(s *v1alpha1.MotorCortexSpec) { s.Notifications.Receivers[1].Slack.Buttons = true }, ""},
	} {
		changed := cortex.DeepCopy()
		tt.change(&changed.Spec)
		t.Run(name, func(t *testing.T) { wantAdmitted(t, c.Update(ctx, changed), tt.policy) })
	}
}

// The most Secrets that a MotorCortex can name cost less than what the API server spends on a policy, and each of them is looked at.
func TestManySecretsAreSent(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	n := 0
	next := func() *v1alpha1.SecretKeyRef {
		n++
		return keyOf(fmt.Sprintf("s%d", n), "key")
	}
	model := func() *v1alpha1.ModelEndpoint {
		return &v1alpha1.ModelEndpoint{Model: "m", BaseURL: "https://" + strings.Repeat("m", 900), APIKeySecretRef: next()}
	}
	authorities := strings.Repeat("c", 16384)
	spec := v1alpha1.MotorCortexSpec{
		Models:  v1alpha1.ModelSet{Motor: model(), Fast: model(), Default: model()},
		Search:  &v1alpha1.SearchProvider{Type: v1alpha1.SearchBrave, APIKeySecretRef: next()},
		Signals: &v1alpha1.Signals{}, Notifications: &v1alpha1.Notifications{},
	}
	for i := range 8 {
		name := fmt.Sprintf("n%d", i)
		spec.Signals.Sinks = append(spec.Signals.Sinks, v1alpha1.SignalSink{
			Name: name, URL: "https://" + strings.Repeat("s", 900), AuthorizationSecretRef: next(), SigningKeySecretRef: next(), CABundle: authorities,
		})
		mail := mailOf("mail.example.org", next(), next())
		mail.Name, mail.Email.CABundle = name, authorities
		spec.Notifications.Receivers = append(spec.Notifications.Receivers, mail)
	}
	read := rights{}
	for i := range n {
		read = append(read, fmt.Sprintf("get secrets s%d", i+1))
	}
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: spec}
	all := person(ctx, t, ns, "all@"+ns, with(cortexWriter, read))
	must(t, dryRun(all).Create(ctx, cortex.DeepCopy()))
	// Of each policy the one without the right is the last that it looks at.
	for last, policy := range map[string]string{spec.Signals.Sinks[7].SigningKeySecretRef.Name: noService, spec.Notifications.Receivers[7].Email.PasswordSecretRef.Name: noReceiver} {
		var most rights
		for _, r := range read {
			if !strings.HasSuffix(r, " "+last) {
				most = append(most, r)
			}
		}
		c := person(ctx, t, ns, "without-"+last+"@"+ns, with(cortexWriter, most))
		wantRefused(t, dryRun(c).Create(ctx, cortex.DeepCopy()), policy, ": "+last)
	}
	must(t, admin.Create(ctx, cortex))
	other := cortex.DeepCopy()
	for i := range other.Spec.Signals.Sinks {
		other.Spec.Signals.Sinks[i].URL += "x"
		other.Spec.Notifications.Receivers[i].Email.Host = "other.example.org"
	}
	must(t, all.Update(ctx, other))
}
