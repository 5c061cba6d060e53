// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"regexp"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
)

// minWindow is the smallest window that is accepted from an endpoint. The system prompt and the tools alone need about as many tokens. A
// smaller number would end every run of the endpoint, and is more likely misread.
const minWindow = 4000

// maxWindow is the largest number that is read as one.
const maxWindow = 999_999_999

// number is how endpoints write one: 131072, 131,072 or 128k.
const number = `([0-9]{1,3}(?:[,._][0-9]{3})+\b|[0-9]{1,9})(k\b)?`

// field is a part of a request that some endpoints do not support.
type field string

const (
	fieldStream field = "stream"
	fieldUsage  field = "stream_options"
)

// apiError is an endpoint's error. Its text may quote the request, and so any text of a model, a tool's schema or a task. A substring of it
// may change how this one request is repeated, but never the state that all loops share about the endpoint.
type apiError struct {
	// code is the error's code, or its type where it has none, param the field of the request that it is about.
	code, param, text string
}

var (
	mentionsUsage  = regexp.MustCompile(`(?i)stream_options|include_usage`)
	mentionsStream = regexp.MustCompile(`(?i)\bstream(ing)?\b`)
	mentionsLength = regexp.MustCompile(`(?i)context[ _](length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens|` +
		`reduce the length|input token count|exceeds? the (model'?s? )?max(imum)?[a-z ]* tokens|max_model_len`)
	// lengthFirst matches how endpoints begin a refusal of a request that is too long. None of them quotes anything before it.
	lengthFirst = regexp.MustCompile(`(?i)^(this (model|endpoint)'s maximum (context|prompt) length is|prompt is too long|(the )?input token count|` +
		`(the )?(request|prompt|input)( \([0-9,._]+k? tokens\))? exceeds the (available )?context|your input exceeds the context|prompt contains [0-9,._]+k? tokens)`)
	// windows match how endpoints report the size of the window.
	windows = []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?:context|prompt) (?:length|window|size)[^0-9]{0,40}` + number),
		regexp.MustCompile(`(?i)tokens? > ` + number),
		regexp.MustCompile(`(?i)maximum (?:number of )?(?:input )?tokens[^0-9]{0,40}` + number),
		regexp.MustCompile(`(?i)max_model_len[^0-9]{0,20}` + number),
	}
)

// isTooLong reports whether the request seems to be too long. The run then makes it shorter, which does no harm if it is not so.
func (r apiError) isTooLong() bool { return r.saysTooLong() || mentionsLength.MatchString(r.text) }

// saysTooLong reports whether the endpoint itself reports that the request is too long.
func (r apiError) saysTooLong() bool {
	switch r.code {
	case "context_length_exceeded", "exceed_context_size_error":
		return true
	}
	return lengthFirst.MatchString(r.text)
}

// refuses returns the field that the request may have to omit, "" if the refusal is about something else.
func (r apiError) refuses() field {
	switch {
	case r.param == "stream_options" || r.param == "stream_options.include_usage" || mentionsUsage.MatchString(r.text):
		return fieldUsage
	case r.param == "stream" || mentionsStream.MatchString(r.text):
		return fieldStream
	}
	return ""
}

// teach adds the facts about the endpoint that the refusal proves, whatever request it is about.
func (r apiError) teach(f *breaker.Facts) {
	switch {
	case r.saysTooLong():
		if n := r.window(); n >= max(minWindow, f.Fitted) {
			f.Window = n
		}
	case r.param == "stream_options" || r.param == "stream_options.include_usage":
		f.NoUsage = true
	case r.param == "stream":
		f.NoStream = true
	}
}

// window returns the number of tokens that fit according to the text, 0 if it has none.
func (r apiError) window() int64 {
	for _, re := range windows {
		m := re.FindStringSubmatch(r.text)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.NewReplacer(",", "", ".", "", "_", "").Replace(m[1]), 10, 64)
		if err != nil || n > maxWindow {
			return 0
		}
		if m[2] != "" {
			n *= 1000
		}
		return n
	}
	return 0
}

// without repeats the request without a field that the endpoint refused. It reports whether that was not tried yet.
func (a *asking) without(refused field) bool {
	switch {
	case refused == fieldUsage && !a.sent.NoUsage:
		a.noUsage = true
	case refused == fieldStream && !a.sent.NoStream:
		a.noStream = true
	default:
		return false
	}
	return true
}

// facts returns the known facts of the endpoint, plus the features for which it refused this request.
func (a *asking) facts() breaker.Facts {
	f := a.shared.Facts()
	f.NoUsage, f.NoStream = f.NoUsage || a.noUsage, f.NoStream || a.noStream
	return f
}
