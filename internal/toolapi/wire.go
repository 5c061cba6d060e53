// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// APIVersion is the version of this format. It rises when something changes its meaning or is removed, and never when something is
// added: an addition is a feature.
const APIVersion int32 = 1

// requests are the bodies that a manager sends.
var requests = []reflect.Type{
	reflect.TypeFor[Call](), reflect.TypeFor[EgressRequest](), reflect.TypeFor[ProbeRequest](), reflect.TypeFor[MCPRequest](),
	reflect.TypeFor[ListSkills](), reflect.TypeFor[BackgroundRequest](),
	reflect.TypeFor[ChangesRequest](),
}

// arguments are those of the tools that the tool server runs.
var arguments = map[string]reflect.Type{
	ToolBash: reflect.TypeFor[BashArgs](), ToolCode: reflect.TypeFor[CodeArgs](), ToolRead: reflect.TypeFor[ReadArgs](),
	ToolWrite: reflect.TypeFor[WriteArgs](), ToolEdit: reflect.TypeFor[EditArgs](), ToolPatch: reflect.TypeFor[PatchArgs](),
	ToolList: reflect.TypeFor[ListArgs](), ToolGlob: reflect.TypeFor[GlobArgs](), ToolGrep: reflect.TypeFor[GrepArgs](),
	ToolFetch: reflect.TypeFor[FetchArgs](), ToolSaveArtifact: reflect.TypeFor[SaveArtifactArgs](),
	ToolOneshot: reflect.TypeFor[OneshotArgs](), ToolOneshotNetwork: reflect.TypeFor[OneshotArgs](), ToolInstall: reflect.TypeFor[InstallArgs](),
}

// paths are the paths of requests. Each is a feature: "PUT /v1/egress".
var paths = []string{
	"GET " + PathHello, "PUT " + PathCalls, "GET " + PathCalls, "POST " + PathCalls, "PUT " + PathFiles, "GET " + PathFiles, "POST " + PathProbe,
	"PUT " + PathEgress, "PUT " + PathMCP, "GET " + PathArtifacts, "POST " + PathSkills, "GET " + PathSkills, "POST " + PathHalt,
	"GET " + PathBackground, "POST " + PathBackground, "POST " + PathChanges, "POST " + PathRepository,
}

// Features are the parts of the format that this build knows, as Hello lists them: requests ("PUT /v1/egress"), their fields
// ("EgressRequest.proxy") and the arguments of tools ("bash.command"). They are read from the types, so that none is forgotten.
var Features = sync.OnceValue(func() []string {
	all := slices.Clone(paths)
	for _, t := range requests {
		all = append(all, fieldsOf(t)...)
	}
	for tool, t := range arguments {
		for f := range t.Fields() {
			all = append(all, tool+"."+fieldName(f))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
})

// fieldsOf returns the fields of a request, including those of nested structs.
func fieldsOf(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		all = append(all, t.Name()+"."+fieldName(f))
		if e := element(f.Type); e.Kind() == reflect.Struct {
			all = append(all, fieldsOf(e)...)
		}
	}
	return all
}

func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Peer describes the features of the tool server at the other end.
type Peer struct {
	features, tools map[string]bool
	environment     *Environment
}

// Peer returns the features that a tool server lists.
func (h Hello) Peer() *Peer {
	return &Peer{features: set(h.Features), tools: set(h.Tools), environment: h.Environment.Plain()}
}

// Environment describes the sandbox beside its tools, nil if that is not known.
func (p *Peer) Environment() *Environment {
	if p == nil {
		return nil
	}
	return p.environment
}

// WithoutEnvironment returns the peer without its Environment, as if that were not known.
func (p *Peer) WithoutEnvironment() *Peer { return &Peer{features: p.features, tools: p.tools} }

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, n := range names {
		all[n] = true
	}
	return all
}

// Knows reports whether the other end knows a feature. It returns true for a nil Peer, whose features are not known.
func (p *Peer) Knows(feature string) bool { return p == nil || p.features[feature] }

// Serves reports whether the other end knows the request. It returns true for a path that this build does not list: the other end must refuse it.
func (p *Peer) Serves(method, path string) bool {
	for _, known := range paths {
		verb, prefix, _ := strings.Cut(known, " ")
		rest, ok := strings.CutPrefix(path, prefix)
		if ok && verb == method && (rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/') {
			return p.Knows(known)
		}
	}
	return true
}

// HasTool reports whether the other end can run the tool. It returns true for a tool that the tool server does not serve.
func (p *Peer) HasTool(name string) bool { return p == nil || arguments[name] == nil || p.tools[name] }

// Lacks returns the arguments of a call that this build knows and the other end does not. The other end must refuse names that this build does
// not know either.
func (p *Peer) Lacks(tool string, args json.RawMessage) []string {
	t := arguments[tool]
	var given map[string]json.RawMessage
	if p == nil || t == nil || json.Unmarshal(args, &given) != nil {
		return nil
	}
	var missing []string
	for f := range t.Fields() {
		name := fieldName(f)
		if _, ok := given[name]; ok && !p.features[tool+"."+name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// Encode returns a request as JSON, without unset fields that the other end does not know. It returns an unknown field
// that is set in missing: the request must not be sent without it, because it may be what bounds its effect. A field that
// may be omitted all the same has the tag `wire:"optional"`.
func (p *Peer) Encode(request any) (body []byte, missing []string, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // Escapes would make arguments at their limit longer than they may be.
	if err := enc.Encode(request); err != nil {
		return nil, nil, err
	}
	if p == nil || p.knowsAll(reflect.TypeOf(request)) {
		return b.Bytes(), nil, nil
	}
	narrowed, missing := p.narrow(reflect.ValueOf(request))
	if len(missing) > 0 {
		return nil, missing, nil
	}
	b.Reset()
	err = enc.Encode(narrowed)
	return b.Bytes(), nil, err
}

func (p *Peer) knowsAll(t reflect.Type) bool {
	return !slices.ContainsFunc(fieldsOf(t), func(f string) bool { return !p.features[f] })
}

// narrow returns an object of the fields that the other end knows.
func (p *Peer) narrow(v reflect.Value) (object map[string]any, missing []string) {
	object = map[string]any{}
	for f := range v.Type().Fields() {
		field := v.FieldByIndex(f.Index)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		feature := v.Type().Name() + "." + name
		switch {
		case !p.features[feature]:
			if !field.IsZero() && f.Tag.Get("wire") != "optional" {
				missing = append(missing, feature)
			}
		case strings.Contains(options, "omit") && field.IsZero():
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			items := []any{}
			for i := range field.Len() {
				item, lacks := p.narrow(field.Index(i))
				items, missing = append(items, item), append(missing, lacks...)
			}
			object[name] = items
		default:
			object[name] = field.Interface()
		}
	}
	return object, missing
}
