// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package fetch makes requests of HTTP for a model, by the way out alone, and shows the answers as text.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	fetchUsage = `"url", and optionally "method", "headers", "body" or "bodyFile", "saveTo", "raw", "timeoutSeconds" and "idempotencyKey"`
	// MaxHeaderText bounds the part of an answer's headers that is shown.
	MaxHeaderText = 8 << 10
)

// tellingHeaders are those that are shown of each answer that has them.
var tellingHeaders = []string{
	"Allow", "Content-Disposition", "Etag", "Last-Modified", "Link", "Location", "Retry-After", "Www-Authenticate",
}

// Fetcher makes requests for the fetch tool.
type Fetcher struct {
	workspace *workspace.Workspace
	outputs   *output.Store
	egress    *wayout.Egress
	taint     *wayout.Taint
	markdowns *markdowns
}

// New returns a Fetcher that stores files in a workspace and goes out by a way.
func New(ws *workspace.Workspace, outputs *output.Store, way *wayout.Egress, taint *wayout.Taint) *Fetcher {
	return &Fetcher{workspace: ws, outputs: outputs, egress: way, taint: taint, markdowns: newMarkdowns()}
}

// Fetch makes a request through the egress proxy and shows the answer.
func (f *Fetcher) Fetch(ctx context.Context, j tool.Job) toolapi.Result {
	var args toolapi.FetchArgs
	if bad := tool.Decode(j.Args, &args, fetchUsage); bad != nil {
		return *bad
	}
	out, bad := newOutgoing(f.workspace, args, j.Key)
	if bad != nil {
		return *bad
	}
	client, err := f.egress.Client()
	if errors.Is(err, wayout.ErrNone) {
		return tool.Failure(toolapi.CodeEgressDenied, "This sandbox has no way out: no host can be reached. "+
			"If the task needs %s and you can ask for domains, ask for it.", workspace.Display(out.url.Hostname()))
	}
	if err != nil {
		return tool.Failure(toolapi.CodeInternal, "The way out of the sandbox cannot be used.")
	}
	defer client.CloseIdleConnections()
	if bad := out.secret(args.BodyFile); bad != nil {
		return *bad
	}
	if err := f.taint.Mark(); err != nil {
		return tool.Failure(toolapi.CodeInternal, "The tool server cannot keep its records: nothing was sent.")
	}
	timed, cancel := context.WithTimeout(ctx, out.timeout)
	defer cancel()
	got, bad := out.exchange(timed, client)
	if bad != nil {
		return *bad
	}
	return f.show(ctx, j, args, got)
}

// show makes the result of an answer.
func (f *Fetcher) show(ctx context.Context, j tool.Job, args toolapi.FetchArgs, got *reply) toolapi.Result {
	result := toolapi.Result{OK: got.status < http.StatusBadRequest && got.stuck == "", Provenance: toolapi.ProvenanceWeb}
	if !result.OK {
		result.ErrorCode = fmt.Sprintf("http_%d", got.status)
		// With some of these statuses, the server reports that it has done nothing.
		result.Retryable = slices.Contains([]int{408, 425, 429, 503}, got.status) || got.onlyReads && slices.Contains([]int{500, 502, 504}, got.status)
	}
	s := shown{Fetcher: f, id: j.ID, limit: j.Limit, result: &result, got: got, media: mediaOf(got.header.Get("Content-Type"))}
	switch {
	case args.Method == http.MethodHead || args.Method == http.MethodOptions && len(got.body) == 0:
		result.Output = s.head("") + s.headers(slices.Sorted(maps.Keys(got.header)))
	case args.SaveTo != "" && result.OK:
		s.saveTo(args.SaveTo)
	default:
		s.body(ctx, args.Raw)
		if args.SaveTo != "" {
			result.Note("[nothing was saved to " + workspace.Display(args.SaveTo) + "]\n")
		}
	}
	return result
}

// shown is an answer on its way to a result.
type shown struct {
	*Fetcher
	id     string
	limit  int
	result *toolapi.Result
	got    *reply
	media  string
}

// head are the lines before the body. note describes how the body is shown.
func (s *shown) head(note string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d %s\nURL: %s", s.got.status, plaintext.Bound(s.got.reason, 100), plaintext.First(plaintext.Clean(s.got.url.String()), MaxHeaderText))
	switch s.got.redirects {
	case 0:
	case 1:
		b.WriteString(" (after a redirect)")
	default:
		fmt.Fprintf(&b, " (after %d redirects)", s.got.redirects)
	}
	b.WriteString("\n")
	if s.got.stuck != "" {
		fmt.Fprintf(&b, "The redirect was not followed: %s.\n", s.got.stuck)
	}
	if kind := s.got.header.Get("Content-Type"); note != "" && kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s, %s\n", plaintext.Bound(kind, 200), note)
	} else if kind != "" && note == "" && len(s.got.body) > 0 {
		fmt.Fprintf(&b, "Content-Type: %s\n", plaintext.Bound(kind, 200))
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// headers are lines of headers, as many as fit.
func (s *shown) headers(names []string) string {
	var b strings.Builder
	for _, name := range names {
		for _, value := range s.got.header.Values(name) {
			line := strings.NewReplacer("\n", " ", "\r", " ").Replace(name+": "+value) + "\n"
			if b.Len()+len(line) > MaxHeaderText {
				return b.String() + "[further headers are left out]\n"
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// body shows the body, or writes it into a file and shows a part of it.
func (s *shown) body(ctx context.Context, raw bool) {
	text, ok := "", false
	if s.got.encoding == "" {
		text, ok = decodeText(s.got.body, s.got.header.Get("Content-Type"))
	}
	note, ending := "", extensionOf(s.media, ok)
	switch {
	case !ok:
		s.binary(ending)
		return
	case raw || len(s.got.body) == 0:
	case isHTML(s.media) && len(text) > maxHTMLBytes:
		note = "too large to be turned into Markdown"
	case isHTML(s.media):
		text, note = s.markdowns.markdown(ctx, text, s.got.url)
		ending = ".md"
	case isJSON(s.media):
		text = PrettyJSON(text)
	}
	head := s.head(note) + s.headers(tellingHeaders) + "\n"
	if text == "" {
		s.result.SetParts(head, "[the body is empty]\n")
		return
	}
	text = plaintext.Clean(text)
	if len(head)+len(text) <= s.limit {
		s.result.Output = head + text
		return
	}
	s.long(head, text, ending)
}

// long shows beginning and end of a text, and writes all of it to a file.
func (s *shown) long(head, text, ending string) {
	where := s.keep([]byte(text), ending)
	note := "[text cut: what is left out is lost, because the workspace takes no more]\n"
	if where != "" {
		note = fmt.Sprintf("[text cut: all of it is in the workspace file %q, %s]\n", where, describe([]byte(text)))
	}
	gap := func(left int) string { return fmt.Sprintf("\n… %d bytes left out …\n", left) }
	head = plaintext.First(head, s.limit/2)
	room := s.limit - len(head) - len(note) - len(gap(len(text))) - 1
	first := plaintext.WholeLines(plaintext.First(text, max(0, room*3/4)))
	last := plaintext.FromLine(plaintext.Last(text, max(0, room-len(first))))
	s.result.SetParts(head+first+gap(len(text)-len(first)-len(last))+last, note)
}

// binary stores a body that is not text, and describes it.
func (s *shown) binary(ending string) {
	note := ""
	if s.got.encoding != "" {
		note = "in the Content-Encoding " + plaintext.Bound(s.got.encoding, 64)
	}
	what := describe(s.got.body)
	tail := fmt.Sprintf("[the body is no text: %s. It could not be kept: the workspace takes no more]\n", what)
	if where := s.keep(s.got.body, ending); where != "" {
		tail = fmt.Sprintf("[the body is no text: %s. It is in the workspace file %q]\n", what, where)
	}
	s.result.SetParts(s.head(note)+s.headers(tellingHeaders), tail)
}

// keep writes content into the folder of outputs and returns its path, "" if that is not possible.
func (s *shown) keep(content []byte, ending string) string {
	local := toolapi.OutputDir + "/" + s.id + ending
	file, err := s.outputs.Create(local, false)
	if err != nil {
		return ""
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = s.workspace.Root.Remove(local) // A part of it only takes the space that is missing.
		return ""
	}
	s.result.OutputFile = local
	return local
}

// saveTo puts the body into a file that the call names.
func (s *shown) saveTo(name string) {
	local, err := s.workspace.Resolve(name)
	if err == nil {
		err = s.workspace.Replace(local, bytes.NewReader(s.got.body))
	}
	if err != nil {
		bad := s.workspace.Failure("save the body to", name, err)
		bad.SetParts(s.head(""), bad.Output+" The request itself was made and answered.")
		*s.result = bad
		return
	}
	note := ""
	if s.got.encoding != "" {
		note = "in the Content-Encoding " + plaintext.Bound(s.got.encoding, 64)
	}
	s.result.SetParts(s.head(note)+s.headers(tellingHeaders), fmt.Sprintf("[saved to %s: %s]\n", workspace.Display(name), describe(s.got.body)))
}

// describe describes a content in a few words. The server's own media type is not among them: this text is in notes.
func describe(content []byte) string {
	sum := sha256.Sum256(content)
	media, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return fmt.Sprintf("%s, %d bytes, sha256 %s", media, len(content), hex.EncodeToString(sum[:]))
}
