package fetch

// A Reason is the machine-readable reason why a request was refused or what it lacks: a command can
// name the option that helps, and a gateway can explain it. Fields other than Kind are set where
// they apply.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	Port uint16     `json:"port,omitempty"` // the port of ReasonPort
	// the scheme of ReasonNoDriver, ReasonGateway, ReasonLocal, ReasonNotData and ReasonRedirect
	Scheme string `json:"scheme,omitempty"`
	// the target host, or the host whose server requires something
	Host string `json:"host,omitempty"`
	// Question is the first unanswered question of a form, for ReasonForm.
	Question string `json:"question,omitempty"`
	// the file of ReasonNotBeginning, relative to the directory of the download
	File string `json:"file,omitempty"`
}

// IsZero reports whether r is the zero Reason.
func (r Reason) IsZero() bool { return r == Reason{} }

// A ReasonKind is the kind of a Reason. Its value is a token.
type ReasonKind string

// The kinds of reasons.
const (
	ReasonPort       ReasonKind = "port"            // Policy.AllowPorts does not include Port
	ReasonPrivate    ReasonKind = "private_address" // a public resource led to a private address
	ReasonLocal      ReasonKind = "local_resource"  // a remote resource led to this machine's files
	ReasonNotData    ReasonKind = "not_data"        // a resource led to a scheme that does not name data
	ReasonRedirect   ReasonKind = "redirect"        // Policy.AllowRedirects does not include Scheme
	ReasonNoDriver   ReasonKind = "no_driver"       // a gateway could serve Scheme
	ReasonPlaintext  ReasonKind = "plaintext_login" // a login would be sent in plaintext
	ReasonNoLogin    ReasonKind = "no_login"        // the server requires a login and there is none
	ReasonAccount    ReasonKind = "no_account"      // the server requires an account (ACCT in FTP)
	ReasonNewsServer ReasonKind = "no_news_server"  // neither the URL nor the options name a news server
	ReasonGateway    ReasonKind = "no_gateway"      // the options name no gateway, which Scheme needs
	// the URL refers to received mail, and no mailbox is configured
	ReasonMailbox   ReasonKind = "no_mailbox"
	ReasonMailDraft ReasonKind = "mail_draft" // the URL is a draft of a message
	// Request.Form does not answer all questions of the form
	ReasonForm       ReasonKind = "form"
	ReasonNameServer ReasonKind = "no_name_server" // no name server has resolved Host
	ReasonProxy      ReasonKind = "proxy"          // the proxy cannot reach the host
	ReasonHostKey    ReasonKind = "host_key"       // no key of the SSH server Host is known
	ReasonDirectory  ReasonKind = "directory"      // the URL names a directory as a file
	// the server requires a client certificate, or another one
	ReasonIdentity ReasonKind = "client_certificate"
	ReasonSSHLogin ReasonKind = "ssh_login" // the SSH server Host accepted no key and no password
	// ReasonHostKeyChanged means that the SSH server Host has a key other than the known one, or a
	// revoked key.
	ReasonHostKeyChanged ReasonKind = "host_key_changed"
	// ReasonKeyExchange means that the key exchange with the SSH server Host failed, for instance because
	// it has no secure algorithm.
	ReasonKeyExchange ReasonKind = "key_exchange"
	// ReasonNotBeginning means that File cannot be resumed, because it is not the beginning of the
	// resource.
	ReasonNotBeginning ReasonKind = "not_beginning"
	// ReasonContradiction means that a response contradicts the bytes received before, and does not
	// prove that the resource has changed.
	ReasonContradiction ReasonKind = "contradiction"
)
