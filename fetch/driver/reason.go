package driver

// A Reason says why something was refused, or what is missing, in a form that programs can act on:
// a command can name the option that helps, and a gateway can explain it in words. The fields other
// than Kind are set where they apply.
type Reason struct {
	Kind   ReasonKind `json:"kind"`
	Port   uint16     `json:"port,omitempty"`   // the port of ReasonPort
	Scheme string     `json:"scheme,omitempty"` // the scheme of ReasonNoDriver, ReasonLocal, ReasonNotData and ReasonRedirect
	Host   string     `json:"host,omitempty"`   // the host that was led to, or whose server asks
	// Question is the first unanswered question of a form, for ReasonForm.
	Question string `json:"question,omitempty"`
	File     string `json:"file,omitempty"` // the file of ReasonNotBeginning, relative to the directory of the download
}

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r == Reason{} }

// A ReasonKind distinguishes reasons. Its value is a token.
type ReasonKind string

// The kinds of reasons.
const (
	ReasonPort       ReasonKind = "port"            // Policy.AllowPorts does not include Port
	ReasonPrivate    ReasonKind = "private_address" // a public resource led to a private address
	ReasonLocal      ReasonKind = "local_resource"  // a remote resource led to this machine's files
	ReasonNotData    ReasonKind = "not_data"        // a resource led to a scheme that names no data
	ReasonRedirect   ReasonKind = "redirect"        // Policy.AllowRedirects does not include Scheme
	ReasonNoDriver   ReasonKind = "no_driver"       // a gateway could serve Scheme
	ReasonPlaintext  ReasonKind = "plaintext_login" // a login would be sent in plaintext
	ReasonNoLogin    ReasonKind = "no_login"        // the server requires a login and none was given
	ReasonAccount    ReasonKind = "no_account"      // the server asks for an account (ACCT in FTP)
	ReasonNewsServer ReasonKind = "no_news_server"  // neither the URL nor the options name a news server
	ReasonMailbox    ReasonKind = "no_mailbox"      // the URL refers to received mail, and no mailbox is configured
	ReasonMailDraft  ReasonKind = "mail_draft"      // the URL is a draft of a message
	ReasonForm       ReasonKind = "form"            // Request.Form does not answer the form
	ReasonNameServer ReasonKind = "no_name_server"  // no name server has resolved Host
	ReasonProxy      ReasonKind = "proxy"           // the proxy cannot reach such a host
	ReasonHostKey    ReasonKind = "host_key"        // no key of the SSH server Host is known
	ReasonSSHLogin   ReasonKind = "ssh_login"       // the SSH server Host accepted no key and no password
	// ReasonHostKeyChanged means that the SSH server Host has a key other than the one known, or a
	// revoked one.
	ReasonHostKeyChanged ReasonKind = "host_key_changed"
	// ReasonNotBeginning means that File was to be resumed but is not the beginning of the
	// resource.
	ReasonNotBeginning ReasonKind = "not_beginning"
)
