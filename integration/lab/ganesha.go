package lab

import "strings"

// ganesha is NFS-Ganesha, a user-space NFS server, limited to version 3. It exports the served
// folder under its own path. The folder must be on a file system with file handles, such as ext4.
// Opening files by handle requires privileges.
var ganesha = &service{
	name: "ganesha",
	ports: []port{
		{name: "nfs", published: 28204,
			greeting: greeting{send: nfsNull, want: "x\x00\x00\x00\x01\x00\x00\x00\x00"}},
		{name: "mount", published: 28205,
			greeting: greeting{send: mountNull, want: "x\x00\x00\x00\x01\x00\x00\x00\x00"}},
	},
	programs: []string{"ganesha.nfsd", "rpcbind"},
	asRoot:   true,
	mounts:   true,
	start: func(p *process) error {
		at := strings.TrimSuffix(p.programs["ganesha.nfsd"], "/usr/bin/ganesha.nfsd")
		p.values["MODULES"] = at + "/usr/lib/x86_64-linux-gnu/ganesha"
		if err := p.config("ganesha.conf", "idmapd.conf", "ganesharoom"); err != nil {
			return err
		}
		p.env = append(p.env, "LD_LIBRARY_PATH="+at+"/usr/lib/ganesha")
		p.wrapper = append(p.wrapper, "@DIR@/ganesharoom")
		return p.spawn("ganesha.nfsd", "-F", "-f", "@DIR@/ganesha.conf", "-L", "@DIR@/log/ganesha.log", "-p",
			"@DIR@/ganesha.pid", "-N", "NIV_EVENT")
	},
}

// Calls of procedure 0, which does nothing, of NFS and of the MOUNT protocol (RFC 5531, section 9).
const (
	nfsNull   = "\x80\x00\x00\x28\x00\x00\x00x\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01\x86\xa3\x00\x00\x00\x03" + "\x00\x00\x00\x00" + authNone
	mountNull = "\x80\x00\x00\x28\x00\x00\x00x\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01\x86\xa5\x00\x00\x00\x03" + "\x00\x00\x00\x00" + authNone
	// authNone is AUTH_NONE as credential and verifier.
	authNone = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)
