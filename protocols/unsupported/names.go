package unsupported

// names lists the schemes of RFC 1738 (section 4) and RFC 1630 without a driver, and permanent
// schemes of IANA's registry that users encounter. Each sentence completes "NAME is …".
var names = []name{
	// RFC 1738, section 4, and RFC 1630.
	{"mailserver", "data that a mail server sends on request",
		"write to the address in the URL: urlget does not send mail"},
	{"z39.50", "the older scheme for Z39.50 searches", "use z39.50s"},
	{"x500", "an entry in an X.500 directory; RFC 1630 does not define its form", "use ldap"},
	{"whois++", "a query of a WHOIS++ directory; RFC 1630 does not define its form",
		"query a whois server: whois://HOST/QUERY"},
	{"urn", "a name without a location", "map its namespace to a resolver: --gateway urn:NID=URL"},

	// Names without a location.
	{"about", "a page of the browser itself (RFC 6694)", ""},
	{"acct", "a user's account (RFC 7565)", ""},
	{"doi", "the persistent identifier of a document",
		"map it to a resolver: --gateway doi=https://doi.org/"},
	{"geo", "a geographic location (RFC 5870)", ""},
	{"hdl", "the persistent name of an object of the Handle System",
		"map it to a resolver: --gateway hdl=https://hdl.handle.net/"},
	{"info", "a name from a registry of namespaces (RFC 4452)", ""},
	{"tag", "a name chosen by its owner on a date (RFC 4151)", ""},
	{"tel", "a telephone number (RFC 3966)", ""},
	{"sms", "a text message to be written (RFC 5724)", ""},
	{"xmpp", "a user or room of an XMPP service (RFC 5122)", ""},
	{"sip", "a party to call (RFC 3261)", ""},
	{"sips", "a party to call over TLS (RFC 3261)", ""},
	{"pres", "the presence of a user (RFC 3859)", ""},
	{"im", "an address for instant messages (RFC 3860)", ""},

	// Services that require their own client.
	{"irc", "a channel of Internet Relay Chat", "use a chat program, such as irssi"},
	{"vnc", "the screen of another machine (RFC 7869)", "use a VNC viewer"},
	{"ssh", "a shell on another machine", "use ssh"},
	{"smtp", "a mail server", "urlget does not send mail: use curl"},
	{"smtps", "a mail server over TLS", "urlget does not send mail: use curl"},
	{"mqtt", "a topic of a message broker", "use mosquitto_sub"},
	{"mqtts", "a topic of a message broker over TLS", "use mosquitto_sub"},
	{"afp", "a file on an Apple file server", "use smb: the server may offer it, too"},
	{"fish", "a file on another machine, read by shell commands over SSH (lftp)", "use sftp"},
	{"hftp", "FTP by an HTTP proxy (lftp)", "use ftp, and set the proxy"},
	{"smbs", "a file on an SMB server over TLS (curl)", "use smb: SMB 3 encrypts without TLS"},
	{"git", "a git repository", "use git clone"},
	{"ipp", "a printer (RFC 3510)", "use lp"},
	{"rtsp", "a media stream (RFC 7826)", "use a media player"},
	{"rtmp", "a media stream of Flash", "use a media player"},
	{"magnet", "the digest of a file in peer-to-peer networks", "use a BitTorrent client, such as aria2c"},
	{"javascript", "a program, which urlget never runs", "it cannot be retrieved"},
	{"blob", "data inside a running browser", "it exists only while the page is open"},
}
