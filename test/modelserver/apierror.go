// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
)

// apiError is an error in the shape in which the API sends it.
type apiError struct {
	status     int
	retryAfter int // Seconds; 0 sends no header.
	noRetry    bool

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// some is nil for no text, which the API writes as null.
func some(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func invalid(status int, param, code, message string) *apiError {
	return &apiError{
		status: status, Message: message, Type: "invalid_request_error",
		Param: some(param), Code: some(code),
	}
}

func modelNotFound(model string) *apiError {
	return invalid(http.StatusNotFound, "model", "model_not_found",
		fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model))
}

func tooLong(window, prompt int) *apiError {
	return invalid(http.StatusBadRequest, "messages", "context_length_exceeded", fmt.Sprintf(
		"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, prompt))
}

// scriptError is for a script that has no answer. It is final: asking again
// would only hide the mistake in the script behind a client's backoff.
func scriptError(code string, err error) *apiError {
	return &apiError{
		status: http.StatusInternalServerError, noRetry: true,
		Message: err.Error(), Type: "server_error", Code: some(code),
	}
}

// statusTypes are the error types that services send with a status.
var statusTypes = map[int]struct{ kind, code string }{
	http.StatusUnauthorized:        {"invalid_request_error", "invalid_api_key"},
	http.StatusForbidden:           {"permission_error", ""},
	http.StatusNotFound:            {"invalid_request_error", ""},
	http.StatusTooManyRequests:     {"requests", "rate_limit_exceeded"},
	http.StatusInternalServerError: {"server_error", ""},
	http.StatusServiceUnavailable:  {"server_error", ""},
	529:                            {"overloaded_error", ""},
}

// statusError is an error that a script asked for.
func statusError(status, retryAfter int, code, message string) *apiError {
	known, ok := statusTypes[status]
	if !ok {
		known.kind = "invalid_request_error"
		if status >= http.StatusInternalServerError {
			known.kind = "server_error"
		}
	}
	if code == "" {
		code = known.code
	}
	if message == "" {
		message = fmt.Sprintf("The script answers with status %d here.", status)
	}
	return &apiError{
		status: status, retryAfter: retryAfter,
		Message: message, Type: known.kind, Code: some(code),
	}
}
