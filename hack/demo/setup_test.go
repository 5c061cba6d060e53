// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	env := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	now := time.Unix(500, 0)
	o, err := parse(nil, env(map[string]string{"DEMO_ANSWER": "stop", "MOTOR_DEMO_START": "400"}), now)
	if err != nil || o.answer != "stop" || !o.start.Equal(time.Unix(400, 0)) || !o.model.scripted() || o.figures {
		t.Errorf("options %+v, %v", o, err)
	}
	o, err = parse([]string{"-answer", "skip", "-figures-json", "f.json"}, env(map[string]string{"OPENAI_API_KEY": "k"}), now)
	if err != nil || o.answer != "skip" || !o.figures || !o.start.Equal(now) || o.model.String() != defaultModel+" at "+defaultBaseURL {
		t.Errorf("options %+v, %v", o, err)
	}
	for text, want := range map[string]string{"": "OPENAI_MODEL", "soon": "MOTOR_DEMO_START"} {
		_, err = parse(nil, env(map[string]string{"OPENAI_BASE_URL": "http://localhost/v1", "MOTOR_DEMO_START": text}), now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

// The key is in the Secret and nowhere else, so that no output and no MotorCortex shows it.
func TestModelObjects(t *testing.T) {
	d := &demo{opts: options{namespace: "demo", model: model{key: "sk-secret", baseURL: "https://x.test/v1", name: "m"}}}
	objects, err := d.modelObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || objects[0].GetKind() != "Secret" {
		t.Fatalf("objects %v", objects)
	}
	want := map[string]any{"models": map[string]any{"default": map[string]any{
		"model": "m", "baseURL": "https://x.test/v1", "apiKeySecretRef": map[string]any{"name": secretName, "key": secretKey},
	}}}
	if diff := cmp.Diff(want, objects[1].Object["spec"]); diff != "" {
		t.Errorf("MotorCortex (-want +got):\n%s", diff)
	}
	if strings.Contains(d.opts.model.String(), "sk-secret") {
		t.Error("the key is printed")
	}
}

func TestDecode(t *testing.T) {
	objects, err := decode(strings.NewReader("# a comment\n---\nkind: A\n---\nkind: B\n"))
	if err != nil || len(objects) != 2 || objects[1].GetKind() != "B" {
		t.Errorf("objects %v, %v", objects, err)
	}
}
