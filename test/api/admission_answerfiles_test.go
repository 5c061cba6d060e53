// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// fileAnswer is an answer to q1 with one file.
func fileAnswer(file string) string { return `{"id":"q1","answer":"here","files":[` + file + `]}` }

func TestFilesOfAnswersAreChecked(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	run := createRun(ctx, t, ns)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which file?", Files: []string{"the portfolio"}})
	good := `{"path":"a","content":"x"}`
	for name, tt := range map[string]struct{ entry, want string }{
		"text":                 {fileAnswer(good), ""},
		"an empty file":        {fileAnswer(`{"path":"a","content":""}`), ""},
		"below folders":        {fileAnswer(`{"path":"a b/c.d/e","content":"x"}`), ""},
		"other bytes":          {fileAnswer(`{"path":"a","binaryContent":"AP8="}`), ""},
		"a ConfigMap":          {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"c","key":"k"}}`), ""},
		"an artifact":          {fileAnswer(`{"path":"a","artifactRef":{"runName":"r","path":"p"}}`), ""},
		"eight":                {fileAnswer(good + files(7)), ""},
		"nine":                 {fileAnswer(good + files(8)), "must have at most 8 items"},
		"none":                 {fileAnswer(""), "should have at least 1 items"},
		"nothing in it":        {fileAnswer(`{"path":"a"}`), "a file has one of"},
		"two in it":            {fileAnswer(`{"path":"a","content":"x","binaryContent":"AP8="}`), "a file has one of"},
		"no base64":            {fileAnswer(`{"path":"a","binaryContent":"%"}`), "binaryContent"},
		"the same twice":       {fileAnswer(good + "," + good), "each path is there once"},
		"absolute":             {fileAnswer(`{"path":"/etc/x","content":"x"}`), "files[0].path"},
		"the folder above":     {fileAnswer(`{"path":"../x","content":"x"}`), "files[0].path"},
		"above in the middle":  {fileAnswer(`{"path":"a/../x","content":"x"}`), "files[0].path"},
		"hidden":               {fileAnswer(`{"path":"a/.git/config","content":"x"}`), "files[0].path"},
		"a folder":             {fileAnswer(`{"path":"a/","content":"x"}`), "files[0].path"},
		"two slashes":          {fileAnswer(`{"path":"a//b","content":"x"}`), "files[0].path"},
		"a line break":         {fileAnswer(`{"path":"a\nb","content":"x"}`), "files[0].path"},
		"an escape":            {fileAnswer(`{"path":"a\u001bb","content":"x"}`), "files[0].path"},
		"a long name":          {fileAnswer(`{"path":"` + strings.Repeat("x", 256) + `","content":"x"}`), "files[0].path"},
		"the largest text":     {fileAnswer(`{"path":"a","content":"` + strings.Repeat("x", 131072) + `"}`), ""},
		"a larger text":        {fileAnswer(`{"path":"a","content":"` + strings.Repeat("x", 131073) + `"}`), "files[0].content"},
		"the largest bytes":    {fileAnswer(`{"path":"a","binaryContent":"` + zeros(131072) + `"}`), ""},
		"larger bytes":         {fileAnswer(`{"path":"a","binaryContent":"` + zeros(131073+2) + `"}`), "files[0].binaryContent"},
		"a name of many bytes": {fileAnswer(`{"path":"` + strings.Repeat("日", 85) + `a","content":"x"}`), "a path has at most 255 bytes"},
		"as many as may be":    {fileAnswer(`{"path":"` + strings.Repeat("日", 85) + `","content":"x"}`), ""},
		"a folder of another":  {fileAnswer(`{"path":"d","content":"x"},{"path":"d/e","content":"x"}`), "no path is a folder of another one"},
		"one that begins so":   {fileAnswer(`{"path":"d","content":"x"},{"path":"de","content":"x"}`), ""},
		"a ConfigMap by path":  {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"a/b","key":"k"}}`), "files[0].configMapKeyRef.name"},
		"a ConfigMap above":    {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"..","key":"k"}}`), "files[0].configMapKeyRef.name"},
		"a run by path":        {fileAnswer(`{"path":"a","artifactRef":{"runName":"a/b","path":"k"}}`), "files[0].artifactRef.runName"},
		"dots in a name":       {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"a.b-c.d","key":"k"}}`), ""},
		"a digest":             {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"c","key":"k","digest":"sha256:` + strings.Repeat("0f", 32) + `"}}`), ""},
		"a digest of more":     {fileAnswer(`{"path":"a","artifactRef":{"runName":"c","path":"k","digest":"sha256:` + strings.Repeat("0f", 33) + `"}}`), "files[0].artifactRef.digest"},
		"no digest":            {fileAnswer(`{"path":"a","configMapKeyRef":{"name":"c","key":"k","digest":"0f"}}`), "files[0].configMapKeyRef.digest"},
		"too much together": {
			fileAnswer(`{"path":"a","content":"` + strings.Repeat("x", 131000) + `"},{"path":"b","binaryContent":"` + zeros(131000) + `"}`),
			"may have 262144: answer more briefly, and put files into ConfigMaps",
		},
		"with a decision": {`{"id":"q1","decision":"Retry","files":[` + good + `]}`, "files go with an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, add(ctx, dryRun(admin), run, "responses", tt.entry), tt.want)
		})
	}
	// A file stays as it was sent.
	must(t, add(ctx, admin, run, "responses", fileAnswer(good)))
	wantRefused(t, jsonPatch(ctx, run.DeepCopy(), `[{"op":"replace","path":"/spec/responses/0/files/0/content","value":"y"}]`), "a response cannot be changed")
}

// files are that many more files, each of another name.
func files(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"path":"f%d","content":""}`, i)
	}
	return b.String()
}

func zeros(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

// A person who answers can give the run nothing that they may not read: else the right to answer would be one to read ConfigMaps.
func TestFilesOfAnswersNeedTheRightToReadThem(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	run := createRun(ctx, t, ns)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which?"})
	const answers = "get,patch,respond motorruns"
	one := person(ctx, t, ns, "one@"+ns, rights{answers, "get configmaps mine"})
	all := person(ctx, t, ns, "all@"+ns, rights{answers, "get configmaps"})
	some := person(ctx, t, ns, "some@"+ns, rights{"get,patch,respond motorruns run", "get configmaps"})
	must(t, admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(ns, "mine")}))
	from := func(names ...string) string {
		var list []v1alpha1.ResponseFile
		for i, name := range names {
			list = append(list, v1alpha1.ResponseFile{Path: fmt.Sprint(i), ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: "k"}})
		}
		text, err := json.Marshal(v1alpha1.Response{ID: "q1", Answer: "here", Files: list})
		must(t, err)
		return string(text)
	}
	const artifact = `{"path":"a","artifactRef":{"runName":"earlier","path":"p"}}`
	wantAdmitted(t, add(ctx, dryRun(one), run, "responses", fileAnswer(`{"path":"a","content":"x"}`)), "")
	wantAdmitted(t, add(ctx, dryRun(one), run, "responses", from("mine", "mine", "mine", "mine", "mine", "mine", "mine", "mine")), "")
	for i := range 8 {
		names := []string{"mine", "mine", "mine", "mine", "mine", "mine", "mine", "mine"}
		names[i] = "theirs"
		wantRefused(t, add(ctx, dryRun(one), run, "responses", from(names...)), "may not get the ConfigMap, so neither may the run that is answered: theirs")
	}
	wantRefused(t, add(ctx, dryRun(one), run, "responses", fileAnswer(artifact)), "the verb get on all ConfigMaps of the namespace")
	wantAdmitted(t, add(ctx, dryRun(all), run, "responses", from("mine", "theirs")), "")
	wantAdmitted(t, add(ctx, dryRun(all), run, "responses", fileAnswer(artifact)), "")
	wantRefused(t, add(ctx, dryRun(some), run, "responses", fileAnswer(artifact)), "may not get the MotorRun", "earlier")
}
