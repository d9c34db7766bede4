BEGIN TRANSACTION;
CREATE TABLE accounts (
	id INTEGER NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	instructor BOOLEAN NOT NULL, 
	token_hash VARCHAR(64), 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (token_hash)
);
INSERT INTO "accounts" VALUES(1,'prof',1,'6439640955f0fdd39aea52e8515ab3b6bec297e2025987d4ca7585813da2dc50');
INSERT INTO "accounts" VALUES(2,'ada',0,'8cebc8f9e5fd30c6c63a547d0eb499e50302595a303892708cec4cef8ab7b558');
INSERT INTO "accounts" VALUES(3,'ben',0,'8feee9af291a4b081b49806048369d5791f4bf143fdd26490f002304f18ac59e');
CREATE TABLE entries (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	anchor BOOLEAN NOT NULL, 
	submission_id INTEGER, 
	instructor BOOLEAN DEFAULT 0 NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, place), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(submission_id) REFERENCES submissions (id)
);
INSERT INTO "entries" VALUES(1,1,0,'random',1,NULL,0,'random');
INSERT INTO "entries" VALUES(2,1,1,'ada',0,2,0,'a2');
INSERT INTO "entries" VALUES(3,1,2,'ben',0,3,0,'b1');
CREATE TABLE matches (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	first_id INTEGER NOT NULL, 
	second_id INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	played BOOLEAN NOT NULL, 
	wins INTEGER, 
	draws INTEGER, 
	losses INTEGER, 
	replay BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (round_id, first_id, second_id, block), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(first_id) REFERENCES entries (id), 
	FOREIGN KEY(second_id) REFERENCES entries (id)
);
INSERT INTO "matches" VALUES(1,1,1,2,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
INSERT INTO "matches" VALUES(2,1,1,3,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
INSERT INTO "matches" VALUES(3,1,2,3,0,1,16,8,8,X'1F8B0800000000000203ABAE050043BFA6A302000000');
CREATE TABLE rounds (
	id INTEGER NOT NULL, 
	title VARCHAR(80) NOT NULL, 
	drill VARCHAR(40) NOT NULL, 
	rules_hash VARCHAR(64) NOT NULL, 
	anchors TEXT NOT NULL, 
	blocks INTEGER NOT NULL, 
	publish BOOLEAN NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	secret VARCHAR(32) NOT NULL, 
	opened VARCHAR(20) NOT NULL, 
	closed VARCHAR(20), 
	PRIMARY KEY (id)
);
INSERT INTO "rounds" VALUES(1,'Week 1','ball','0123456789abcdef','["random"]',1,1,'finished','56ea9966fd40da4f13ef42f66edd831f','2026-11-26 20:36:33','2026-11-26 20:36:33');
INSERT INTO "rounds" VALUES(2,'Week 2','ball','0123456789abcdef','["random"]',1,0,'open','e80459d58553f9537403a1008504d47f','2026-11-26 20:36:33',NULL);
CREATE TABLE settings (
	"key" VARCHAR(40) NOT NULL, 
	value TEXT, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('schema','2');
CREATE TABLE submissions (
	id INTEGER NOT NULL, 
	round_id INTEGER NOT NULL, 
	account_id INTEGER NOT NULL, 
	received VARCHAR(20) NOT NULL, 
	version BIGINT NOT NULL, 
	step BIGINT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(round_id) REFERENCES rounds (id), 
	FOREIGN KEY(account_id) REFERENCES accounts (id)
);
INSERT INTO "submissions" VALUES(1,1,2,'2026-11-26 20:36:33',1,1000,'a1',X'');
INSERT INTO "submissions" VALUES(2,1,2,'2026-11-26 20:36:33',1,1000,'a2',X'636F6E74656E74206132');
INSERT INTO "submissions" VALUES(3,1,3,'2026-11-26 20:36:33',1,1000,'b1',X'636F6E74656E74206231');
INSERT INTO "submissions" VALUES(4,2,2,'2026-11-26 20:36:33',2,2000,'a3',X'');
INSERT INTO "submissions" VALUES(5,2,2,'2026-11-26 20:36:33',2,2000,'a4',X'636F6E74656E74206134');
INSERT INTO "submissions" VALUES(6,2,3,'2026-11-26 20:36:33',2,2000,'b2',X'636F6E74656E74206232');
CREATE INDEX ix_submissions_account_id ON submissions (account_id);
CREATE INDEX ix_submissions_round_id ON submissions (round_id);
CREATE INDEX ix_matches_played ON matches (played);
COMMIT;
