package lab

// A service is a server and the way to start it.
type service struct {
	name      string
	container string // name in docker-compose.yml, if not name
	ports     []port
	accounts  bool     // has User and Password
	programs  []string // required programs, found by find
	asRoot    bool     // requires root as a child process
	mounts    bool     // requires a mount namespace as a child process, see useAccounts
	unserved  []string // files of the fixture tree that it does not serve
	start     func(*process) error
}

// A port is a port of a service.
type port struct {
	name      string // name in tests
	published int    // compose: port on 127.0.0.1
	direct    int    // compose: port on the container's address, instead of published
	sameAs    string // name of an earlier port with the same number
	greeting  greeting
}

// number returns the port's number in docker-compose.
func (p port) number() int {
	if p.direct != 0 {
		return p.direct
	}
	return p.published
}

// services lists all services. Each has a file of its own.
var services = []*service{
	vsftpd,
	proftpd,
	pureFTPd,
	pyftpdlib,
	openssh,
	ganesha,
	samba,
	sambaVariants,
	rsyncd,
	nginx,
	gophernicus,
	mollyBrown,
	pygopherd,
	dovecot,
	inn,
	sn,
	telnetd,
	rlogind,
	hercules,
	fingerd,
	whois,
	dictd,
	slapd,
	ztest,
	zebra,
	tinyproxy,
	squid,
	microsocks,
	tftpdHPA,
	atftpd,
	waisd,
	prosperod,
}
