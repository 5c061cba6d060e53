// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"net/http"
	"regexp"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/harvest"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
)

// callID is narrow because ids become names of files.
var callID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })

// route finds what serves the request. It works on the path as it was sent: a multiplexer would answer "a//b" or
// "a/../b" with a redirect to another file.
func (s *Server) route(r *http.Request) (func(*request.Request) (any, error), error) {
	path := r.URL.Path
	if serve, method := s.service(r); serve != nil {
		return serve, checkMethod(r, method)
	}
	if file, ok := strings.CutPrefix(path, toolapi.PathArtifacts+"/"); ok {
		return func(r *request.Request) (any, error) { return s.getArtifact(r, file) }, checkMethod(r, http.MethodGet)
	}
	if file, ok := strings.CutPrefix(path, toolapi.PathSkills+"/"); ok {
		return func(r *request.Request) (any, error) {
			return s.getPart(r, file, harvest.IsSkillFile, toolapi.MaxSkillFileBytes)
		}, checkMethod(r, http.MethodGet)
	}
	if file, ok := strings.CutPrefix(path, toolapi.PathFiles); ok && r.Method == http.MethodGet {
		return func(*request.Request) (any, error) { return s.getFile(file) }, nil
	} else if ok {
		return func(r *request.Request) (any, error) { return s.putFile(r, file) }, checkMethod(r, http.MethodPut)
	}
	call, ok := strings.CutPrefix(path, toolapi.PathCalls)
	if !ok {
		return nil, request.Refuse(http.StatusNotFound, toolapi.ErrUnknownField, "this tool server knows nothing at this path")
	}
	id, isCancel := strings.CutSuffix(call, "/cancel")
	if !callID().MatchString(id) {
		return nil, request.Bad("a call's id has 1 to 128 letters, digits, dots, dashes and underscores, and starts with a letter or digit")
	}
	switch {
	case isCancel:
		return func(r *request.Request) (any, error) { return s.cancelCall(r, id) }, checkMethod(r, http.MethodPost)
	case r.Method == http.MethodGet:
		return func(r *request.Request) (any, error) { return s.getCall(r, id) }, nil
	default:
		return func(r *request.Request) (any, error) { return s.putCall(r, id) }, checkMethod(r, http.MethodPut)
	}
}

// service returns the handler of a path without parameters, and its method. It returns nil for other paths.
func (s *Server) service(r *http.Request) (serve func(*request.Request) (any, error), method string) {
	switch r.URL.Path {
	case toolapi.PathHello:
		return s.hello, http.MethodGet
	case toolapi.PathProbe:
		return s.probe, http.MethodPost
	case toolapi.PathHalt:
		return s.halt, http.MethodPost
	case toolapi.PathBackground:
		if r.Method == http.MethodGet {
			return s.getBackground, http.MethodGet
		}
		return s.endBackground, http.MethodPost
	case toolapi.PathEgress:
		return s.putEgress, http.MethodPut
	case toolapi.PathMCP:
		return s.putMCP, http.MethodPut
	case toolapi.PathArtifacts:
		return func(r *request.Request) (any, error) { return s.artifacts.List(r.Context()), nil }, http.MethodGet
	case toolapi.PathChanges:
		return s.getChanges, http.MethodPost
	case toolapi.PathRepository:
		return s.makeRepository, http.MethodPost
	case toolapi.PathSkills:
		return s.listSkills, http.MethodPost
	}
	return nil, ""
}

func checkMethod(r *http.Request, method string) error {
	if r.Method == method {
		return nil
	}
	return request.Refuse(http.StatusMethodNotAllowed, toolapi.ErrBadRequest, "the method here is "+method)
}
