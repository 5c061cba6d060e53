// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Credential is a Secret that the run may use without seeing it.
// +kubebuilder:validation:XValidation:rule="has(self.exposeToSandbox) && self.exposeToSandbox ? !has(self.hosts) || self.hosts.size() == 0 : has(self.hosts) && self.hosts.size() > 0",fieldPath=".hosts",message="a credential is bound to at least one host; only one with exposeToSandbox has none"
type Credential struct {
	// name by which the model knows it, as <credential:name>. Programs in the sandbox find a stand-in for the value in the
	// environment variable of that name in upper case.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*[a-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['path', 'home', 'user', 'logname', 'shell', 'pwd', 'oldpwd', 'lang', 'language', 'term', 'tmpdir', 'temp', 'tmp', 'ifs', 'env', 'bash_env', 'hostname', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'ftp_proxy', 'ssl_cert_file', 'ssl_cert_dir', 'curl_ca_bundle', 'requests_ca_bundle', 'aws_ca_bundle', 'pip_cert']) && !['ld_', 'motor_', 'node_', 'python', 'git_', 'lc_', 'bash_', 'npm_config_', 'dyld_', 'openssl_'].exists(p, self.startsWith(p))",message="programs give the environment variable of that name a meaning of its own: choose another name, such as service_api_key"
	// +required
	Name string `json:"name"`
	// secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on
	// that Secret.
	// +required
	SecretRef SecretKeyRef `json:"secretRef"`
	// hosts are the only ones that the value is sent to. Each must be within domains.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Hosts []Domain `json:"hosts,omitempty"`
	// slot is where in a request the value belongs.
	// +default={"type": "Bearer"}
	// +optional
	Slot CredentialSlot `json:"slot,omitzero"`
	// exposeToSandbox puts the value itself into the environment variable, for what is not HTTP. The sandbox, and with it
	// the model, can read it then. The creator of the run needs the verb approve on MotorRuns.
	// +optional
	ExposeToSandbox bool `json:"exposeToSandbox,omitempty"`
}

// SlotType is the kind of a place in a request.
// +kubebuilder:validation:Enum=Bearer;Basic;Header;Query
type SlotType string

const (
	// SlotBearer is the header Authorization with a bearer token.
	SlotBearer SlotType = "Bearer"
	// SlotBasic is the header Authorization with user:password, which is what the value has.
	SlotBasic SlotType = "Basic"
	// SlotHeader is the header of the name.
	SlotHeader SlotType = "Header"
	// SlotQuery is the parameter of the name in the query of the address.
	SlotQuery SlotType = "Query"
)

// CredentialSlot is where in a request the value of a credential belongs.
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="has(self.name) == (self.type in ['Header', 'Query'])",message="name is required for the types Header and Query, and for them alone"
// +kubebuilder:validation:XValidation:rule="self.type != 'Header' || !has(self.name) || self.name.matches('^[A-Za-z0-9][A-Za-z0-9-]*$')",message="the name of a header has letters, digits and hyphens"
// +kubebuilder:validation:XValidation:rule="self.type != 'Header' || !has(self.name) || !(self.name.lowerAscii() in ['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'accept-encoding', 'proxy-authorization', 'proxy-connection', 'keep-alive', 'cookie', 'range', 'via', 'forwarded'])",message="that header belongs to the connection, not to a credential"
type CredentialSlot struct {
	// type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
	// +default="Bearer"
	// +optional
	Type SlotType `json:"type,omitempty"`
	// name of the header or of the parameter in the query.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.-]+$`
	// +optional
	Name string `json:"name,omitempty"`
}

// String returns the type and, if there is one, the name, as in "Bearer" and "Header X-Api-Key". The zero value is Bearer.
func (s CredentialSlot) String() string {
	switch {
	case s.Type == "":
		return string(SlotBearer)
	case s.Name == "":
		return string(s.Type)
	}
	return string(s.Type) + " " + s.Name
}

// Requester is the user who created a run, as the API server knew them.
type Requester struct {
	// username of the user.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Username string `json:"username"`
	// groups of the user.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`
}
